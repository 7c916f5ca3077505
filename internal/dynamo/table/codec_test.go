package table_test

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/dynamo/table"
	"github.com/throughline/throughline/internal/testing/check"
)

type tagged struct {
	Text   string    `stored:"text,omitempty"`
	Number float64   `stored:"number,omitempty"`
	Is     bool      `stored:"is,omitempty"`
	Count  int       `stored:"count"`
	List   []string  `stored:"list,omitempty"`
	At     time.Time `stored:"at,omitempty"`
	Ends   time.Time `stored:"ends,seconds"`
	// Made, Place, Parts, Days and Counts are of the other kinds.
	Made   time.Time              `stored:"made,millis"`
	Place  conversation.Watermark `stored:"place,prefix"`
	Parts  []conversation.Part    `stored:"parts,json"`
	Gone   conversation.SeqSet    `stored:"gone,omitempty"`
	Days   []day                  `stored:"days,omitempty"`
	Counts map[string]int         `stored:"counts,omitempty"`
	ID     string
}

type day struct {
	From time.Time `stored:"from"`
	Text string    `stored:"text"`
}

func TestTags(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 2, 5, 18, 30, 0, 0, time.UTC)
	for _, want := range []tagged{
		{},
		{Count: 3},
		{Text: "t", Number: 0.25, Is: true, Count: -1, List: []string{"a", ""}, At: at, Ends: at},
		{
			Made: at, Place: conversation.Watermark{Seq: 4, At: at}, Parts: []conversation.Part{{Type: "text", Text: "<b>"}},
			Gone: conversation.SeqSet{{First: 1, Last: 3}}, Days: []day{{at, "d"}}, Counts: map[string]int{"a": 1, "b": 0},
		},
	} {
		check.Same(t, want, table.Decode[tagged](table.Encode(want)), "read back")
	}
	if it := table.Encode(tagged{ID: "i", List: []string{}}); len(it) != 2 || it["count"] == nil || it["placeSeq"] == nil {
		t.Errorf("an empty record is stored as %v", it)
	}
	other := table.Item{}
	for _, name := range table.NamesOf[tagged]() {
		other[name] = &types.AttributeValueMemberNULL{Value: true}
	}
	other["text"] = table.StringAttr("t")
	got := table.Decode[tagged](other)
	if got.Text != "t" || got.Count != 0 || got.List != nil || !got.At.IsZero() || got.Days != nil || got.Counts != nil {
		t.Errorf("with attributes of another type it is %+v", got)
	}
}
