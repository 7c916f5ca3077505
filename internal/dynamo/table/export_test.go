package table

// Names that the tests of keys need.
var (
	ParseSourceID = parseSourceID
	DecodeName    = decodeName
)
