package e2e_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/pinecone-io/go-pinecone/v5/pinecone"

	"github.com/throughline/throughline/infra/client"
	"github.com/throughline/throughline/infra/launch"
	"github.com/throughline/throughline/internal/testing/check"
)

// tenant is a user of a stack of the test's own, with a secret that the user's messages hold.
type tenant struct {
	api    *client.Client
	name   string
	secret string
}

func newTenant(t *testing.T, stack *launch.Stack, name string) tenant {
	t.Helper()
	api := check.Got(client.New(stack.Base).As(t.Context(), name))(t)
	open(t, api, "coach_conversation", "s")
	return tenant{api, name, "pebble" + strings.ReplaceAll(name, ".", "dot")}
}

// tell stores three messages and a memory, which all users word alike but for the secret.
func (u tenant) tell(t *testing.T) {
	t.Helper()
	for i := range 3 {
		content := fmt.Sprintf("My secret word number %d is %s.", i, u.secret)
		do(t, u.api, http.MethodPost, messagesPath, userMessage(content), nil)
	}
	memory := map[string]any{"type": "PROFILE", "content": "The user's secret word is " + u.secret + "."}
	do(t, u.api, http.MethodPost, "/v1/memories", memory, nil)
}

// finds checks that the user finds so many messages about secret words, none of another user.
func (u tenant) finds(t *testing.T, want int) {
	t.Helper()
	var found struct {
		Messages []struct{ Content string }
		Degraded []any
	}
	query := map[string]any{"query": "What is my secret word?", "limit": 100}
	do(t, u.api, http.MethodPost, "/v1/recall", query, &found)
	if len(found.Messages) != want || len(found.Degraded) > 0 {
		t.Errorf("%s finds %+v, want %d messages", u.name, found, want)
	}
	for _, m := range found.Messages {
		check.Contains(t, m.Content, u.secret, "%s finds another user's message", u.name)
	}
}

// settleStack waits until a stack has caught up.
func settleStack(t *testing.T, stack *launch.Stack) {
	t.Helper()
	var settled struct{ Settled bool }
	do(t, client.New(stack.Base), http.MethodPost, "/dev/settle", map[string]any{"timeoutMs": 60000}, &settled)
	if !settled.Settled {
		t.Fatal("the stack has not settled")
	}
}

// vectorCounts returns the number of vectors in each namespace of an index.
func vectorCounts(t *testing.T, host string) map[string]int {
	t.Helper()
	service := check.Got(pinecone.NewClient(pinecone.NewClientParams{ApiKey: "any"}))(t)
	index := check.Got(service.Index(pinecone.NewIndexConnParams{Host: host}))(t)
	stats := check.Got(index.DescribeIndexStats(t.Context()))(t)
	counts := map[string]int{}
	for name, ns := range stats.Namespaces {
		if ns.VectorCount > 0 {
			counts[name] = int(ns.VectorCount)
		}
	}
	return counts
}

func pineconeHost(t *testing.T, stack *launch.Stack) string {
	t.Helper()
	var info struct{ PineconeHost string }
	do(t, client.New(stack.Base), http.MethodGet, "/dev/info", nil, &info)
	return info.PineconeHost
}

// TestUsersWithoutRoomHoldNobodyUp has more users than the plan has namespaces. Those without one are not indexed, and
// nobody else waits for that.
func TestUsersWithoutRoomHoldNobodyUp(t *testing.T) {
	t.Parallel()
	stack := startStack(t, "PINECONE_MAX_NAMESPACES=2")
	var tenants []tenant
	for _, name := range []string{"ann", "bob", "eve"} {
		tenants = append(tenants, newTenant(t, stack, name))
		tenants[len(tenants)-1].tell(t)
		settleStack(t, stack)
	}
	for _, i := range []int{2, 0, 2, 1} { // Eve's records are in front of and between the others'
		content := "Once more, my secret word is " + tenants[i].secret + "."
		do(t, tenants[i].api, http.MethodPost, messagesPath, userMessage(content), nil)
	}
	settleStack(t, stack)
	tenants[0].finds(t, 4)
	tenants[1].finds(t, 4)
	check.Same(t, map[string]int{"ann": 5, "bob": 5}, vectorCounts(t, pineconeHost(t, stack)), "vectors")
}
