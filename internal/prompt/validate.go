package prompt

import (
	"fmt"
	"strings"
	"sync"
	"time"
	_ "time/tzdata" // zones are known wherever the function runs
	"unicode/utf8"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
)

// order is a request that has been checked, with the registry entries it names.
type order struct {
	Request
	recipe  Recipe
	agent   Agent
	surface conversation.Surface
	// place is the requested time zone, nil where the user's preference decides.
	place  *time.Location
	budget cost
}

// check validates a request and reports every wrong field together.
func check(r Request) (order, error) {
	o := order{Request: r}
	var wrong []fault.Field
	refuse := func(field, format string, args ...any) {
		wrong = append(wrong, fault.Field{Field: field, Message: fmt.Sprintf(format, args...)})
	}
	var ok bool
	if o.recipe, ok = recipeOf(r.Recipe); !ok {
		refuse("recipe", "must be one of %s", recipeNames())
	}
	if o.agent, ok = agentOf(r.AgentID); !ok {
		refuse("agentId", "must be one of %s", agentNames())
	}
	var err error
	if o.surface, err = conversation.SurfaceOf(r.Context); err != nil {
		refuse("context", "must be one of %s", strings.Join(conversation.Contexts(), ", "))
	}
	if !conversation.ValidID(r.SessionID) {
		refuse("sessionId", "must be 1 to 128 of A-Z a-z 0-9 _ . : -")
	}
	if r.CoachID != "" && !conversation.ValidID(r.CoachID) {
		refuse("coachId", "must be 1 to 128 of A-Z a-z 0-9 _ . : -")
	}
	if n := len(r.Message); n < 1 || n > conversation.MaxContentBytes || !utf8.ValidString(r.Message) {
		refuse("message", "must be 1 byte to 256 KiB of UTF-8")
	}
	if !utf8.ValidString(r.SystemRole) {
		refuse("systemRole", "must be UTF-8")
	}
	if r.Timezone != "" {
		if o.place, err = zone(r.Timezone); err != nil {
			refuse("timezone", "must be an IANA time zone such as Europe/Berlin")
		}
	}
	o.budget = o.recipe.Budget
	if r.Budget != nil {
		o.budget.tokens = r.Budget.Tokens
		o.recipe.MessageApart = false
		if r.Budget.Tokens < MinBudget {
			refuse("budget.tokens", "must be at least %d", MinBudget)
		}
	}
	if len(wrong) > 0 {
		return order{}, fault.InvalidFields(wrong...)
	}
	return o, nil
}

// CheckTurn refuses what no session could make a prompt of, before anything of a turn is stored: a recipe or an agent
// that is none, and a message of so many tokens that it is more than the recipe's whole budget. Its error is Invalid,
// with the fields.
func CheckTurn(recipe, agent string, messageTokens int) error {
	var wrong []fault.Field
	r, ok := recipeOf(recipe)
	if !ok {
		wrong = append(wrong, fault.Field{Field: "recipe", Message: "must be one of " + recipeNames()})
	}
	if _, ok := agentOf(agent); !ok {
		wrong = append(wrong, fault.Field{Field: "agentId", Message: "must be one of " + agentNames()})
	}
	if ok && !r.MessageApart && messageTokens > r.Budget.tokens {
		wrong = append(wrong, fault.Field{Field: "message", Message: fmt.Sprintf(
			"does not fit: the budget is %d tokens, and the message alone needs %d", r.Budget.tokens, messageTokens)})
	}
	if len(wrong) > 0 {
		return fault.InvalidFields(wrong...)
	}
	return nil
}

// zones keeps the time zones that were asked for; there are some six hundred.
var zones sync.Map

// zone returns the IANA time zone of a name. Local, which names whatever machine this runs on, is none.
func zone(name string) (*time.Location, error) {
	if known, ok := zones.Load(name); ok {
		return known.(*time.Location), nil
	}
	if name == "Local" || name == "" {
		return nil, fmt.Errorf("%q is no time zone", name)
	}
	place, err := time.LoadLocation(name)
	if err != nil {
		return nil, err
	}
	zones.Store(name, place)
	return place, nil
}
