module github.com/throughline/throughline/examples/go-service

go 1.25.0

require github.com/throughline/throughline/clients/go v1.0.0

replace github.com/throughline/throughline/clients/go => ../../clients/go
