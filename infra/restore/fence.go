package restore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/throughline/throughline/infra/deployment"
)

// fenceSID names the statement of a table's resource policy that makes the table read-only.
const fenceSID = "ThroughlineReadOnly"

// writeActions are all actions that write records. A transaction takes those of its parts.
var writeActions = []string{
	"dynamodb:BatchWriteItem", "dynamodb:DeleteItem", "dynamodb:PartiQLDelete", "dynamodb:PartiQLInsert",
	"dynamodb:PartiQLUpdate", "dynamodb:PutItem", "dynamodb:UpdateItem",
}

// statement is the part of a policy's statement that is written here. Statements of others are kept as they are.
type statement struct {
	SID       string `json:"Sid"`
	Effect    string
	Principal string
	Action    []string
	Resource  string
	Condition map[string]map[string][]string
}

// policy is a resource policy.
type policy struct {
	Version   string            `json:"Version"`
	ID        string            `json:"Id,omitempty"`
	Statement []json.RawMessage `json:"Statement"`
}

// fence returns the statement that denies writes to everybody but the operator.
func fence(table string, operator []string) json.RawMessage {
	raw, _ := json.Marshal(statement{ // strings only
		SID: fenceSID, Effect: "Deny", Principal: "*", Action: writeActions, Resource: table,
		Condition: map[string]map[string][]string{"ArnNotLike": {"aws:PrincipalArn": operator}},
	})
	return raw
}

// isFence reports whether a statement is the fence.
func isFence(s json.RawMessage) bool {
	var named struct {
		SID string `json:"Sid"`
	}
	return json.Unmarshal(s, &named) == nil && named.SID == fenceSID
}

var assumedRole = regexp.MustCompile(`^(arn:[\w-]+):sts::(\d{12}):assumed-role/([^/]+)/`)

// principals returns the patterns of aws:PrincipalArn that a caller's ARN has. That of a session of a role is the
// role's, whose path the session does not say.
func principals(caller string) []string {
	if m := assumedRole.FindStringSubmatch(caller); m != nil {
		role := fmt.Sprintf("%s:iam::%s:role/", m[1], m[2])
		return []string{role + m[3], role + "*/" + m[3]}
	}
	return []string{caller}
}

// readPolicy returns a table's policy, empty where it has none.
func (r *Restore) readPolicy(ctx context.Context, table string) (policy, error) {
	p := policy{Version: "2012-10-17"}
	out, err := r.tables.GetResourcePolicy(ctx, &dynamodb.GetResourcePolicyInput{ResourceArn: &table})
	if _, none := errors.AsType[*types.PolicyNotFoundException](err); none {
		return p, nil
	}
	if err != nil {
		return p, fmt.Errorf("read the policy of %s: %w", table, err)
	}
	if err := json.Unmarshal([]byte(aws.ToString(out.Policy)), &p); err != nil {
		return p, fmt.Errorf("read the policy of %s: %w", table, err)
	}
	return p, nil
}

// operators returns whom a policy's fence spares, and whether there is one.
func (p policy) operators() (spared texts, isFenced bool) {
	for _, s := range p.Statement {
		var f struct {
			Condition struct {
				Spared struct {
					Principals texts `json:"aws:PrincipalArn"`
				} `json:"ArnNotLike"`
			}
		}
		if isFence(s) {
			_ = json.Unmarshal(s, &f) // another's fence, whom it spares does not matter
			return f.Condition.Spared.Principals, true
		}
	}
	return nil, false
}

// isClosed reports whether a policy lets nobody but this operator write.
func (r *Restore) isClosed(p policy) bool {
	spared, isFenced := p.operators()
	return isFenced && slices.Equal(spared, r.operator)
}

// setReadOnly makes a table read-only or lets it be written again, and reports whether it was so. A fence that spares
// another operator is replaced, so that one can end what another began. What its owner has in its policy stays.
func (r *Restore) setReadOnly(ctx context.Context, table string, readOnly bool) (was bool, err error) {
	p, err := r.readPolicy(ctx, table)
	if err != nil {
		return false, err
	}
	if _, isFenced := p.operators(); readOnly && r.isClosed(p) || !readOnly && !isFenced {
		return true, nil
	}
	p.Statement = slices.DeleteFunc(p.Statement, isFence)
	if readOnly {
		p.Statement = append(p.Statement, fence(table, r.operator))
	}
	return false, r.writePolicy(ctx, table, p)
}

// writePolicy replaces a table's policy and waits until it is read back. DynamoDB takes another change of the same
// policy only 15 s later, and applies a change within seconds.
func (r *Restore) writePolicy(ctx context.Context, table string, p policy) error {
	raw, err := json.Marshal(p)
	if err != nil {
		return err
	}
	if len(p.Statement) == 0 {
		_, err = r.tables.DeleteResourcePolicy(ctx, &dynamodb.DeleteResourcePolicyInput{ResourceArn: &table})
	} else {
		_, err = r.tables.PutResourcePolicy(ctx, &dynamodb.PutResourcePolicyInput{
			ResourceArn: &table, Policy: aws.String(string(raw)),
		})
	}
	if err != nil {
		return fmt.Errorf("write the policy of %s: %w", table, err)
	}
	return r.wait(ctx, "the policy of "+table, func() (bool, error) {
		now, err := r.readPolicy(ctx, table)
		return len(now.Statement) == len(p.Statement) && r.isClosed(now) == r.isClosed(p), err
	})
}

// ofTable returns a policy with another table in the place of one.
func (p policy) ofTable(from, to string) policy {
	for i, s := range p.Statement {
		p.Statement[i] = json.RawMessage(strings.ReplaceAll(string(s), from, to))
	}
	return p
}

// wait asks until something has come about.
func (r *Restore) wait(ctx context.Context, what string, isDone func() (bool, error)) error {
	return deployment.Wait(ctx, r.out, r.updater.Poll, what, isDone)
}

// texts is one text or a list of texts, as policies have them.
type texts []string

// UnmarshalJSON reads both forms.
func (t *texts) UnmarshalJSON(raw []byte) error {
	if strings.HasPrefix(string(raw), "[") {
		return json.Unmarshal(raw, (*[]string)(t))
	}
	*t = texts{""}
	return json.Unmarshal(raw, &(*t)[0])
}
