package adk

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"

	"google.golang.org/adk/v2/session"

	throughline "github.com/throughline/throughline/clients/go"
)

// The namespaces of documents: the state of the app and of its users, by the app, and the users who have sessions.
const (
	stateNamespace = appPrefix + "adk-state/"
	usersNamespace = appPrefix + "adk-users/"
)

// hashed returns a label or key of documents for any text.
func hashed(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// split returns the parts of a state by their scope. Keys of the scope temp are in none.
func split(state map[string]any) (app, user, own map[string]any) {
	app, user, own = map[string]any{}, map[string]any{}, map[string]any{}
	for key, value := range state {
		switch {
		case strings.HasPrefix(key, session.KeyPrefixApp):
			app[key] = value
		case strings.HasPrefix(key, session.KeyPrefixUser):
			user[key] = value
		case !strings.HasPrefix(key, session.KeyPrefixTemp):
			own[key] = value
		}
	}
	return app, user, own
}

// putShared stores the parts of a state that sessions share. Each key is a document, so that writers of different keys
// do not meet, and the last writer of one key wins. Storing it again changes nothing.
func (s *Sessions) putShared(ctx context.Context, appName, userID string, app, user map[string]any) error {
	for _, shared := range []struct {
		client *throughline.Client
		state  map[string]any
	}{{s.as(appName, ""), app}, {s.as(appName, userID), user}} {
		for _, key := range slices.Sorted(maps.Keys(shared.state)) {
			text, err := json.Marshal(shared.state[key])
			if err != nil {
				return fmt.Errorf("state %s: %w", key, err)
			}
			document := throughline.NewDocument{
				Value: map[string]any{"key": key, "json": string(text)}, Index: []string{},
			}
			if _, err := shared.client.PutDocument(ctx, stateNamespace+hashed(appName), hashed(key), document); err != nil {
				return fmt.Errorf("store state %s: %w", key, err)
			}
		}
	}
	return nil
}

// shared returns the state of the app and of the user. The app's has keys of its scope only, and so has the user's.
// Other keys, and what is no JSON, are skipped.
func (s *Sessions) shared(ctx context.Context, appName, userID string) (map[string]any, error) {
	state := map[string]any{}
	for _, of := range []struct{ user, prefix string }{{"", session.KeyPrefixApp}, {userID, session.KeyPrefixUser}} {
		query := throughline.ListDocumentsQuery{Namespace: stateNamespace + hashed(appName)}
		for document, err := range s.as(appName, of.user).ListDocuments(ctx, query).All() {
			if err != nil {
				return nil, fmt.Errorf("read state: %w", err)
			}
			key, _ := document.Value["key"].(string)
			text, _ := document.Value["json"].(string)
			var value any
			if !strings.HasPrefix(key, of.prefix) || json.Unmarshal([]byte(text), &value) != nil {
				slog.WarnContext(ctx, "skip a document that is no state", "namespace", document.Namespace, "key", document.Key)
				continue
			}
			state[key] = value
		}
	}
	return state, nil
}

// withoutTemp returns an event as it is stored: without temporary state.
func withoutTemp(event *session.Event) *session.Event {
	isTemp := func(key string, _ any) bool { return strings.HasPrefix(key, session.KeyPrefixTemp) }
	stored := *event
	if event.Actions.StateDelta != nil {
		stored.Actions.StateDelta = maps.Clone(event.Actions.StateDelta)
		maps.DeleteFunc(stored.Actions.StateDelta, isTemp)
	}
	return &stored
}
