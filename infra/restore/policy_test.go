package restore

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/throughline/throughline/internal/testing/check"
)

// withPolicies passes requests on to an engine and adds what it lacks of policies. It keeps a resource policy for each
// table, and refuses the writes that a statement with the effect Deny names, as the service does; what the functions'
// roles do not allow it refuses after that. The principal of a request is the role that has the name of its access key.
func withPolicies(engine http.Handler, allows func(action, table string) bool) *policies {
	return &policies{
		engine: engine, allows: allows, texts: map[string]string{}, stale: map[string]string{}, taken: map[string]bool{},
	}
}

type policies struct {
	engine http.Handler
	allows func(action, table string) bool

	mu    sync.Mutex
	texts map[string]string // by the table's name
	stale map[string]string // what the next look sees, as the service answers for some seconds after a change
	taken map[string]bool   // the actions that operators have taken
}

// note notes the actions of an operator's request. What is about a table as a whole is an action of the same name.
func (p *policies) note(operation string, body []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	of := actions(operation, body)
	if len(of) == 0 {
		of = []call{{action: "dynamodb:" + operation}}
	}
	for _, c := range of {
		p.taken[c.action] = true
	}
}

// operatorsMay checks that the policies for operators allow what they have done.
func (p *policies) operatorsMay(t *testing.T) {
	t.Helper()
	allowed := map[string]bool{}
	for _, path := range []string{"policy.json", "../deploy/policy.json"} {
		text := check.Got(os.ReadFile(path))(t)
		var policy struct{ Statement []struct{ Action []string } }
		check.OK(t, json.Unmarshal(text, &policy))
		for _, s := range policy.Statement {
			for _, action := range s.Action {
				allowed[action] = true
			}
		}
	}
	if len(p.taken) < 10 {
		t.Errorf("operators have taken %d actions", len(p.taken))
	}
	for action := range p.taken {
		if !allowed[action] {
			t.Errorf("operators take %s, which their policies do not allow", action)
		}
	}
}

// functionsKey is the access key of the functions.
const functionsKey = "functions"

// account is the one of all resources and roles of the engine.
const account = "000000000000"

// accessKey finds the access key in a request's signature.
var accessKey = regexp.MustCompile(`Credential=([^/]+)/`)

// principalOf returns the ARN of the role that an access key is of.
func principalOf(key string) string { return "arn:aws:iam::" + account + ":role/" + key }

func (p *policies) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, 16<<20))
	if err != nil {
		panic(http.ErrAbortHandler) // the client went away
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	switch operation {
	case "PutResourcePolicy", "GetResourcePolicy", "DeleteResourcePolicy":
		p.note(operation, body)
		p.policy(w, operation, body)
		return
	}
	principal := principalOf("")
	if m := accessKey.FindStringSubmatch(r.Header.Get("Authorization")); m != nil {
		principal = principalOf(m[1])
	}
	if principal != principalOf(functionsKey) {
		p.note(operation, body)
	}
	for _, c := range actions(operation, body) {
		because := ""
		switch {
		case p.denies(c, principal):
			because = "with an explicit deny in a resource-based policy"
		case principal == principalOf(functionsKey) && !p.allows(c.action, path.Base(c.table)):
			because = "because no identity-based policy allows the " + c.action + " action"
		}
		if because != "" {
			refuse(w, "AccessDeniedException", fmt.Sprintf("User: %s is not authorized to perform: %s on resource: %s %s",
				principal, c.action, c.table, because))
			return
		}
	}
	p.engine.ServeHTTP(w, r)
}

// policy keeps, returns or deletes the policy of a table.
func (p *policies) policy(w http.ResponseWriter, operation string, body []byte) {
	var in struct {
		Policy      string
		ResourceARN string `json:"ResourceArn"`
	}
	if json.Unmarshal(body, &in) != nil {
		refuse(w, "SerializationException", "the body is no JSON")
		return
	}
	table := path.Base(in.ResourceARN)
	p.mu.Lock()
	defer p.mu.Unlock()
	text, ok := p.texts[table]
	stale, isStale := p.stale[table]
	delete(p.stale, table)
	switch operation {
	case "PutResourcePolicy":
		p.stale[table], p.texts[table] = text, in.Policy
		text = in.Policy
	case "DeleteResourcePolicy":
		p.stale[table] = text
		delete(p.texts, table)
	default:
		if isStale {
			text, ok = stale, stale != ""
		}
		if !ok {
			refuse(w, "PolicyNotFoundException", "there is no policy on "+table)
			return
		}
	}
	answer, _ := json.Marshal(map[string]string{"Policy": text, "RevisionId": "1"}) // strings only
	w.Header().Set("Content-Type", "application/x-amz-json-1.0")
	_, _ = w.Write(answer)
}

// refuse answers with an error of the service.
func refuse(w http.ResponseWriter, code, message string) {
	answer, _ := json.Marshal(map[string]string{"__type": "com.amazon.coral.service#" + code, "message": message})
	w.Header().Set("Content-Type", "application/x-amz-json-1.0")
	w.WriteHeader(http.StatusBadRequest)
	_, _ = w.Write(answer)
}

// call is an action on a table.
type call struct{ action, table string }

// actions lists the actions on tables that a request for records takes. A transaction takes those of its parts.
func actions(operation string, body []byte) []call {
	var in struct {
		TableName     string
		RequestItems  map[string]json.RawMessage
		TransactItems []map[string]struct{ TableName string }
	}
	if json.Unmarshal(body, &in) != nil {
		return nil
	}
	switch operation {
	case "PutItem", "UpdateItem", "DeleteItem", "GetItem", "Query", "Scan":
		return []call{{"dynamodb:" + operation, in.TableName}}
	case "BatchWriteItem", "BatchGetItem":
		var out []call
		for table := range in.RequestItems {
			out = append(out, call{"dynamodb:" + operation, table})
		}
		return out
	case "TransactWriteItems":
		var out []call
		for _, item := range in.TransactItems {
			for part, of := range item {
				out = append(out, call{"dynamodb:" + part + "Item", of.TableName})
			}
		}
		return out
	}
	return nil
}

// denies reports whether a statement of the table's policy denies an action to a principal.
func (p *policies) denies(c call, principal string) bool {
	p.mu.Lock()
	text := p.texts[path.Base(c.table)]
	p.mu.Unlock()
	var policy struct {
		Statement []struct {
			Effect    string
			Action    []string
			Condition struct{ ArnNotLike map[string][]string }
		}
	}
	if text == "" || json.Unmarshal([]byte(text), &policy) != nil {
		return false
	}
	for _, s := range policy.Statement {
		spared := slices.ContainsFunc(s.Condition.ArnNotLike["aws:PrincipalArn"], func(pattern string) bool {
			is, err := path.Match(pattern, principal)
			return err == nil && is
		})
		if s.Effect == "Deny" && slices.Contains(s.Action, c.action) && !spared {
			return true
		}
	}
	return false
}
