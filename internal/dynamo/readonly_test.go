package dynamo_test

import (
	"testing"
	"time"

	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/testing/dynamotest"
)

// TestReadOnlyTable checks what a write that the service refuses becomes: a table that its policy makes read-only is no
// fault of the code, and a right that a role lacks is one.
func TestReadOnlyTable(t *testing.T) {
	t.Parallel()
	const denied = "User: arn:aws:iam::1:role/r is not authorized to perform: dynamodb:PutItem on resource: arn:aws:" +
		"dynamodb:us-east-1:1:table/t "
	for name, c := range map[string]struct {
		answer exchange
		want   fault.Code
		after  time.Duration
	}{
		"closed": {
			exchange{code: "AccessDeniedException", message: denied + "with an explicit deny in a resource-based policy"},
			fault.Unavailable, time.Minute,
		},
		"no right": {
			exchange{
				code:    "AccessDeniedException",
				message: denied + "because no identity-based policy allows the dynamodb:PutItem action",
			},
			fault.Internal, 0,
		},
		"cut off": {exchange{code: "AccessDeniedException", isCut: true}, "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := &wire{op: "TransactWriteItems", script: []exchange{c.answer}}
			stores := openWired(t, dynamotest.Table(t), w)
			_, err := stores.Preferences.Put(t.Context(), "ann", longterm.Preferences{Timezone: "UTC"})
			if c.want == "" {
				if err != nil {
					t.Errorf("a write whose first answer breaks off: %v", err)
				}
				return
			}
			if f := fault.From(err); err == nil || f.Code != c.want || f.RetryAfter != c.after {
				t.Errorf("got %v, want %s and %s", err, c.want, c.after)
			}
		})
	}
}
