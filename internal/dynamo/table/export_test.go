package table

import "github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

// Names that the tests of keys need.
var (
	ParseSourceID = parseSourceID
	DecodeName    = decodeName
)

// Names returns the names of the attributes that an update changes.
func (u Update) Names() (names []string) {
	built, err := expression.NewBuilder().WithUpdate(u.built).Build()
	if err != nil {
		panic(err)
	}
	for _, name := range built.Names() {
		names = append(names, name)
	}
	return names
}
