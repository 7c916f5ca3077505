package table_test

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"github.com/throughline/throughline/internal/dynamo/table"
)

type tagged struct {
	Text   string    `stored:"text,omitempty"`
	Number float64   `stored:"number,omitempty"`
	Is     bool      `stored:"is,omitempty"`
	Count  int       `stored:"count"`
	List   []string  `stored:"list,omitempty"`
	At     time.Time `stored:"at,omitempty"`
	Ends   time.Time `stored:"ends,seconds"`
	ID     string
}

func TestTags(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 2, 5, 18, 30, 0, 0, time.UTC)
	for _, want := range []tagged{
		{}, {Count: 3}, {Text: "t", Number: 0.25, Is: true, Count: -1, List: []string{"a", ""}, At: at, Ends: at},
	} {
		if diff := cmp.Diff(want, table.Decode[tagged](table.Encode(want))); diff != "" {
			t.Errorf("read back (-want +got):\n%s", diff)
		}
	}
	if it := table.Encode(tagged{ID: "i", List: []string{}}); len(it) != 1 || it["count"] == nil {
		t.Errorf("an empty record is stored as %v", it)
	}
	other := table.Item{}
	for name := range table.Encode(tagged{Text: "t", Number: 1, Is: true, List: []string{"a"}, At: at, Ends: at}) {
		other[name] = &types.AttributeValueMemberNULL{Value: true}
	}
	other["text"] = table.StringAttr("t")
	got := table.Decode[tagged](other)
	if got.Text != "t" || got.Count != 0 || got.List != nil || !got.At.IsZero() {
		t.Errorf("with attributes of another type it is %+v", got)
	}
}
