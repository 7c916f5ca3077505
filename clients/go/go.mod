module github.com/throughline/throughline/clients/go

go 1.25.0
