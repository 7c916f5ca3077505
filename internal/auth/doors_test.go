package auth_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/throughline/throughline/internal/auth"
	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/httpapi"
	"github.com/throughline/throughline/internal/prompt"
	"github.com/throughline/throughline/internal/recall"
	"github.com/throughline/throughline/internal/testing/check"
)

// entrance returns what a request with a token may do: in whose name, and with which of the two scopes. The user is
// empty where the token is refused.
type entrance func(t *testing.T, token, payload string) (user string, isUser, isApp bool)

// TestBothEntrancesReadTokensAlike has the rules of tokens, and checks each at the function URL and at the functions
// behind the HTTP API. There, what the authorizer of API Gateway would let through is passed on.
func TestBothEntrancesReadTokensAlike(t *testing.T) {
	t.Parallel()
	i := newIssuer(t, "a")
	entrances := map[string]entrance{"function URL": urlEntrance(newVerifier(t, i)), "HTTP API": i.apiEntrance()}
	const user, app = "throughline/user", "throughline/app"
	for name, tc := range map[string]struct {
		// claims follow iss and exp. An aud comes before them where they have neither that nor a client_id.
		claims string
		user   string
		scopes string
	}{
		"Cognito's": {
			`"sub":"ann","client_id":"throughline","token_use":"access","version":2,"scope":"openid throughline/user"`,
			"ann", user,
		},
		"Auth0's": {
			`"sub":"auth0|a","aud":["throughline","https://x/userinfo"],"azp":"c","scope":"openid throughline/app"`,
			"auth0|a", app,
		},
		"Okta's":                   {`"sub":"a@b.c","cid":"c","uid":"u","scp":["openid","throughline/user"]`, "a@b.c", user},
		"scope as a list":          {`"sub":"ann","scope":["throughline/user","throughline/app"]`, "ann", user + app},
		"scp as text":              {`"sub":"ann","scp":"throughline/app throughline/user"`, "ann", user + app},
		"scope before scp":         {`"sub":"ann","scope":"throughline/user","scp":["throughline/app"]`, "ann", user},
		"a list of one":            {`"sub":"ann","scp":["throughline/app"]`, "ann", app},
		"no scopes":                {`"sub":"ann"`, "ann", ""},
		"null scopes":              {`"sub":"ann","scope":null`, "ann", ""},
		"half a bracket":           {`"sub":"ann","scope":"[throughline/app"`, "ann", ""},
		"half a bracket after":     {`"sub":"ann","scope":"[x] throughline/app]"`, "ann", ""},
		"brackets":                 {`"sub":"ann","scope":"[throughline/app]"`, "ann", ""},
		"brackets around both":     {`"sub":"ann","scope":"[throughline/user throughline/app]"`, "ann", ""},
		"brackets in a list":       {`"sub":"ann","scp":["[throughline/app]"]`, "ann", ""},
		"two scopes in one":        {`"sub":"ann","scp":["throughline/user throughline/app"]`, "ann", ""},
		"a comma":                  {`"sub":"ann","scope":"throughline/user,throughline/app"`, "ann", ""},
		"another space":            {`"sub":"ann","scope":"x\u00a0throughline/app\tthroughline/user"`, "ann", ""},
		"capitals":                 {`"sub":"ann","scope":"Throughline/App"`, "ann", ""},
		"a claim beside":           {`"sub":"ann","SUBJECT":"bob","permissions":["throughline/app"]`, "ann", ""},
		"scopes in permissions":    {`"sub":"ann","permissions":["throughline/app"],"roles":"throughline/app"`, "ann", ""},
		"client_id beside an aud":  {`"sub":"ann","aud":"throughline","client_id":"x"`, "ann", ""},
		"another aud":              {`"sub":"ann","aud":"x"`, "", ""},
		"another client_id":        {`"sub":"ann","client_id":"x"`, "", ""},
		"another aud, client_id":   {`"sub":"ann","aud":"x","client_id":"throughline"`, "", ""},
		"no sub":                   {`"scope":"throughline/app"`, "", ""},
		"an empty sub":             {`"sub":""`, "", ""},
		"a null sub":               {`"sub":null`, "", ""},
		"a number as sub":          {`"sub":7`, "", ""},
		"a long sub":               {`"sub":"` + strings.Repeat("x", 129) + `"`, "", ""},
		"a control character":      {`"sub":"a\u0000b"`, "", ""},
		"another case":             {`"sub":"ann","Sub":"bob"`, "", ""},
		"another case alone":       {`"SUB":"bob"`, "", ""},
		"a long s":                 {`"sub":"ann","ſub":"bob"`, "", ""},
		"sub twice":                {`"sub":"ann","sub":"bob"`, "", ""},
		"sub twice, once escaped":  {`"sub":"ann","s\u0075b":"bob"`, "", ""},
		"scope twice":              {`"sub":"ann","scope":"throughline/user","scope":"throughline/app"`, "", ""},
		"scope in capitals":        {`"sub":"ann","Scope":"throughline/app"`, "", ""},
		"scp in capitals":          {`"sub":"ann","SCP":["throughline/app"]`, "", ""},
		"an aud in capitals":       {`"sub":"ann","aud":"throughline","Aud":"x"`, "", ""},
		"an exp in capitals":       {`"sub":"ann","EXP":9999999999`, "", ""},
		"scope a number":           {`"sub":"ann","scope":7`, "", ""},
		"scp a list of numbers":    {`"sub":"ann","scp":[7]`, "", ""},
		"half a surrogate":         {`"sub":"ann\ud800"`, "", ""},
		"half a surrogate, beside": {`"sub":"ann","x":"\udc00"`, "", ""},
		"a replacement character":  {`"sub":"ann\ufffd"`, "", ""},
		"bytes that are no UTF-8":  {"\"sub\":\"ann\xff\"", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			aud := ""
			if !strings.Contains(tc.claims, `"aud"`) && !strings.Contains(tc.claims, `"client_id"`) {
				aud = `"aud":"` + audience + `",`
			}
			payload := fmt.Sprintf(`{"iss":%q,"exp":%d,%s%s}`, i.URL, time.Now().Add(time.Hour).Unix(), aud, tc.claims)
			for where, enter := range entrances {
				got, isUser, isApp := enter(t, i.signText(t, "a", payload), payload)
				if got != tc.user || isApp != strings.Contains(tc.scopes, app) || isUser != (tc.scopes != "") {
					t.Errorf("%s: user %q, user's scope %v, app's scope %v; want %q with %q", where, got, isUser, isApp,
						tc.user, tc.scopes)
				}
			}
		})
	}
}

// urlEntrance is the check of the function URL.
func urlEntrance(v *auth.Verifier) entrance {
	return func(t *testing.T, token, _ string) (string, bool, bool) {
		user, scopes, err := v.Verify(t.Context(), token)
		isApp := slices.Contains(scopes, httpapi.ScopeApp)
		if err != nil {
			return "", false, false
		}
		return string(user), isApp || slices.Contains(scopes, httpapi.ScopeUser), isApp
	}
}

// apiEntrance is the functions behind the HTTP API, which get what the authorizer of API Gateway lets through.
func (i *issuer) apiEntrance() entrance {
	return func(t *testing.T, token, payload string) (string, bool, bool) {
		subject, ok := i.authorize(payload)
		if !ok {
			return "", false, false
		}
		c := &callers{}
		base := httpapi.Base{Log: slog.New(slog.DiscardHandler)}
		ask := func(h http.Handler, method, path, body string) int {
			out, err := httpapi.GatewayHandler(h)(t.Context(), events.APIGatewayV2HTTPRequest{
				RawPath: path, Body: body,
				Headers: map[string]string{"content-type": "application/json", "authorization": "Bearer " + token},
				RequestContext: events.APIGatewayV2HTTPRequestContext{
					HTTP: events.APIGatewayV2HTTPRequestContextHTTPDescription{Method: method, Path: path},
					Authorizer: &events.APIGatewayV2HTTPRequestContextAuthorizerDescription{
						JWT: &events.APIGatewayV2HTTPRequestContextAuthorizerJWTDescription{
							// The text of a list, whatever the token has, must not count.
							Claims: map[string]string{"sub": subject, "scope": "[throughline/app throughline/user]"},
						},
					},
				},
			})
			check.OK(t, err)
			return out.StatusCode
		}
		contexts := httpapi.Context(httpapi.ContextDeps{Base: base, Recaller: c})
		recalled := ask(contexts, "POST", "/v1/recall", `{"query":"x"}`)
		listed := ask(httpapi.Prompts(httpapi.PromptsDeps{Base: base, Prompter: c}), "GET", "/v1/prompts", "")
		if recalled == http.StatusForbidden {
			return subject, false, false
		}
		return c.user, recalled == http.StatusOK, listed == http.StatusOK
	}
}

// authorize does what the documentation says of the JWT authorizer of an HTTP API: it compares iss, aud or where there
// is none client_id, and exp, which it finds by their exact names. It knows nothing of repeated names, and writes
// U+FFFD for what is not UTF-8.
func (i *issuer) authorize(payload string) (subject string, ok bool) {
	var c map[string]any
	if json.Unmarshal([]byte(payload), &c) != nil {
		return "", false
	}
	aud, named := c["aud"]
	if !named {
		aud = c["client_id"]
	}
	list, isList := aud.([]any)
	if !isList {
		list = []any{aud}
	}
	exp, _ := c["exp"].(float64)
	if sub := c["sub"]; sub != nil {
		subject = fmt.Sprint(sub)
	}
	return subject, c["iss"] == i.URL && slices.Contains(list, any(audience)) && exp > float64(time.Now().Unix())
}

// callers remembers who called.
type callers struct{ user string }

func (c *callers) Query(context.Context, conversation.UserID, recall.ContextQuery) (recall.Summaries, error) {
	return recall.Summaries{}, nil
}

func (c *callers) Messages(
	_ context.Context, user conversation.UserID, _ recall.MessageQuery,
) (recall.Records, error) {
	c.user = string(user)
	return recall.Records{}, nil
}

func (c *callers) Memories(context.Context, conversation.UserID, recall.MemoryQuery) (recall.Records, error) {
	return recall.Records{}, nil
}

func (c *callers) Documents(context.Context, conversation.UserID, recall.DocumentQuery) (recall.Records, error) {
	return recall.Records{}, nil
}

func (c *callers) Records(context.Context, conversation.UserID, recall.RecordQuery) (recall.Records, error) {
	return recall.Records{}, nil
}

func (c *callers) Build(context.Context, conversation.UserID, prompt.Request) (prompt.Prompt, error) {
	return prompt.Prompt{}, nil
}

func (c *callers) Get(context.Context, conversation.UserID, string) (prompt.Record, error) {
	return prompt.Record{}, nil
}

func (c *callers) List(context.Context, conversation.UserID, string, conversation.Page) (
	[]prompt.Record, conversation.Position, error,
) {
	return nil, "", nil
}

// TestOnlyTheCheckedTokenCounts has requests to the HTTP API whose token is not the one that the authorizer checked.
func TestOnlyTheCheckedTokenCounts(t *testing.T) {
	t.Parallel()
	i := newIssuer(t, "a")
	enter := i.apiEntrance()
	payload := func(sub string) string {
		return fmt.Sprintf(`{"iss":%q,"aud":%q,"exp":9999999999,"sub":%q,"scope":"throughline/app"}`, i.URL, audience, sub)
	}
	for name, token := range map[string]string{
		"another user's": i.signText(t, "a", payload("bob")), "two": "a.b.c,Bearer " + i.signText(t, "a", payload("ann")),
		"no token": "", "no payload": "a..c", "no JSON": "a.YQ.c", "two parts": "a.b", "padded": "a.e30=.c",
	} {
		if user, _, _ := enter(t, token, payload("ann")); user != "" {
			t.Errorf("%s: the caller is %q", name, user)
		}
	}
}
