package httpapi

import (
	"context"
	"net/http"
	"reflect"
	"strings"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/longterm"
)

// LongTerm are the stores of long-term records. All are required.
type LongTerm struct {
	Profile     longterm.Singleton[longterm.Profile]
	Seed        longterm.Singleton[longterm.Seed]
	UserSummary longterm.Singleton[longterm.UserSummary]
	Preferences longterm.Singleton[longterm.Preferences]
	Coaches     longterm.CoachStore
	Goals       longterm.Collection[longterm.Goal]
	CheckIns    longterm.Collection[longterm.CheckIn]
	Memories    longterm.Collection[longterm.Memory]
	Todos       longterm.Collection[longterm.Todo]
	Corrector   MemoryCorrector
}

// longTermTag groups the operations on long-term records in the document.
const longTermTag = "What the user is and wants"

func (l LongTerm) register(s *server) {
	singleton[longterm.Profile, profileInput, profileDoc]{s, l.Profile}.register("profile", "Profile", "profile")
	singleton[longterm.Seed, seedDoc, seedDoc]{s, l.Seed}.register("seed", "Seed", "seed")
	singleton[longterm.UserSummary, userSummaryInput, userSummaryDoc]{s, l.UserSummary}.register(
		"user-summary", "UserSummary", "user summary",
		"What the app has stored, and after it what was observed in the user's sessions while the preferences "+
			"allow memory. PUT replaces both; what is observed later is added.")
	singleton[longterm.Preferences, preferencesInput, preferencesDoc]{s, l.Preferences}.register(
		"preferences", "Preferences", "preferences",
		"A change takes effect at once, for older data too. Switching back restores it.")
	coaches{s, l.Coaches}.register()
	goals := collection[longterm.Goal, newGoal, changedGoal, goal]{s, l.Goals, "goals", "Goal", "goal", 1, ""}
	registerDoc(s, goals.listing(), goals.list)
	goals.register()
	// Check-ins can only be created and listed.
	notes := collection[longterm.CheckIn, newCheckIn, noInput, checkIn]{
		s, l.CheckIns, "check-ins", "CheckIn", "check-in", 1, "",
	}
	registerDoc(s, notes.listing(), notes.list)
	register(s, notes.creation(), notes.createWithoutPath)
	memories := collection[longterm.Memory, newMemory, changedMemory, Memory]{
		s, l.Memories, "memories", "Memory", "memory", forgetWeight, forgetDetail,
	}
	registerFiltered(memories, s.filterMemories)
	memoryHistory{s, l.Corrector}.register()
	todos := collection[longterm.Todo, newTodo, changedTodo, todo]{s, l.Todos, "todos", "Todo", "todo", 1, ""}
	registerFiltered(todos, func(in *todosInput) (ListInput, func(longterm.Todo) bool) {
		if in.Status == "" {
			return in.ListInput, nil
		}
		return in.ListInput, func(t longterm.Todo) bool { return in.Status == string(t.Status) }
	})
}

// singleton serves a kind of which each user has one record. T is the domain's type, In the body of a PUT, and Doc the
// record in responses.
type singleton[T, In, Doc any] struct {
	*server
	store longterm.Singleton[T]
}

type (
	noInput         struct{}
	docInput[D any] struct{ Body D }
)

// register adds the operations at a path under /v1. id is the name in operation ids, name the name in texts.
func (k singleton[T, In, Doc]) register(path, id, name string, detail ...string) {
	registerDoc(k.server,
		op("GET /v1/"+path, "get"+id, longTermTag, "Get the "+name, detail...).or(http.StatusNotFound), k.get)
	registerDoc(k.server, op("PUT /v1/"+path, "put"+id, longTermTag, "Replace the "+name, detail...), k.put)
}

func (k singleton[T, In, Doc]) get(ctx context.Context, c Caller, _ *noInput) (Doc, error) {
	return show[Doc](k.store.Get(ctx, c.User))
}

func (k singleton[T, In, Doc]) put(ctx context.Context, c Caller, in *docInput[In]) (Doc, error) {
	var record T
	if err := fill(k.server, &record, in.Body); err != nil {
		return *new(Doc), err
	}
	return show[Doc](k.store.Put(ctx, c.User, record))
}

// collection serves a kind of which each user has many records. T is the domain's type, New the body of a POST, Patch
// the body of a PATCH, and View the record in responses.
type collection[T, New, Patch, View any] struct {
	*server
	store longterm.Collection[T]
	// path is the path under /v1, id the name of one record in operation ids, name its name in texts.
	path, id, name string
	// deletion is how many requests the deletion of a record counts as.
	deletion int
	// deletes says what else the deletion of a record does.
	deletes string
}

// forgetWeight is how many requests the deletion of a memory counts as: what repeats its messages is looked for as what
// quotes one is.
const forgetWeight = quotesWeight

// forgetDetail is what the deletion of a memory does and does not do.
const forgetDetail = "What it says is forgotten. Its messages, the answers to them and what quotes them leave " +
	"recall, search, summaries and prompts, and todos and check-ins that mention it are deleted. The messages stay in " +
	"the history and the export, marked. What the user says of it later is new."

// RecordPath is the path of one record of a collection.
type RecordPath struct {
	ID string `path:"id" doc:"The record's id."`
}

type (
	newInput[N any] struct {
		Idempotent
		Body N
	}
	patchInput[P any] struct {
		RecordPath
		Body P
	}
)

// register adds the operations but the list.
func (k collection[T, New, Patch, View]) register() {
	one := " /v1/" + k.path + "/{id}"
	register(k.server, k.creation(), k.create)
	registerDoc(k.server, op("GET"+one, "get"+k.id, longTermTag, "Get a "+k.name), k.get)
	registerDoc(k.server,
		op("PATCH"+one, "change"+k.id, longTermTag, "Change a "+k.name).or(http.StatusConflict), k.change)
	registerDone(k.server, op("DELETE"+one, "delete"+k.id, longTermTag, "Delete a "+k.name, k.deletes), k.delete)
}

func (k collection[T, New, Patch, View]) listing() operation {
	return op("GET /v1/"+k.path, "list"+strings.Replace(k.id+"s", "ys", "ies", 1), longTermTag, "List "+k.path,
		"The newest first, current and past records alike.",
	)
}

// registerFiltered adds the operations of a kind whose list has filters. filter returns the page of an input, and which
// records to keep, nil for all.
func registerFiltered[T, New, Patch, View, In any](
	k collection[T, New, Patch, View], filter func(*In) (ListInput, func(T) bool),
) {
	op := k.listing()
	op.detail += " A page of a filtered list may have fewer items than the limit, or none, and still a nextCursor."
	registerDoc(k.server, op, func(ctx context.Context, c Caller, in *In) (list[View], error) {
		list, keep := filter(in)
		return k.listWhere(ctx, c, list, keep)
	})
	k.register()
}

func (k collection[T, New, Patch, View]) creation() operation {
	return op("POST /v1/"+k.path, "create"+k.id, longTermTag, "Create a "+k.name).
		answers(http.StatusCreated).or(http.StatusConflict)
}

func (k collection[T, New, Patch, View]) list(ctx context.Context, c Caller, in *ListInput) (list[View], error) {
	return k.listWhere(ctx, c, *in, nil)
}

// listWhere returns a page of the records to keep, or of all.
func (k collection[T, New, Patch, View]) listWhere(
	ctx context.Context, c Caller, in ListInput, keep func(T) bool,
) (list[View], error) {
	return listed(k.server, c, in, true, shown[View], func(page conversation.Page) ([]T, conversation.Position, error) {
		return filtered(page, keep, of(ctx, c.User, k.store.List))
	})
}

func (k collection[T, New, Patch, View]) create(
	ctx context.Context, c Caller, in *newInput[New],
) (*created[View], error) {
	stored, replayed, err := k.add(ctx, c, in)
	if err != nil {
		return nil, err
	}
	id := reflect.ValueOf(stored).FieldByName("ID").String()
	return newCreated(shown[View](stored), pathOf(k.path, id), replayed), nil
}

func (k collection[T, New, Patch, View]) createWithoutPath(
	ctx context.Context, c Caller, in *newInput[New],
) (*createdWithoutPath[View], error) {
	stored, replayed, err := k.add(ctx, c, in)
	return &createdWithoutPath[View]{Body: shown[View](stored), Replayed: newReplayed(replayed)}, err
}

func (k collection[T, New, Patch, View]) add(
	ctx context.Context, c Caller, in *newInput[New],
) (stored T, replayed bool, err error) {
	if err := c.checkFields(in.Body); err != nil {
		return stored, false, err
	}
	var record T
	if err := fill(k.server, &record, in.Body); err != nil {
		return stored, false, err
	}
	return k.store.Create(ctx, c.User, record, in.idempotency(in.Body))
}

func (k collection[T, New, Patch, View]) get(ctx context.Context, c Caller, in *RecordPath) (View, error) {
	return show[View](k.store.Get(ctx, c.User, in.ID))
}

func (k collection[T, New, Patch, View]) change(
	ctx context.Context, c Caller, in *patchInput[Patch],
) (View, error) {
	if err := c.checkFields(in.Body); err != nil {
		return *new(View), err
	}
	return show[View](k.store.Update(ctx, c.User, in.ID, func(record *T) error { return fill(k.server, record, in.Body) }))
}

func (k collection[T, New, Patch, View]) delete(ctx context.Context, c Caller, in *RecordPath) error {
	if err := k.charge(ctx, c, k.deletion-1); err != nil {
		return err
	}
	return k.store.Delete(ctx, c.User, in.ID)
}
