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
}

// longTermTag groups the operations on long-term records in the document.
const longTermTag = "What the user is and wants"

func (l LongTerm) register(s *server) {
	l.profile(s).register()
	l.seed(s).register()
	l.userSummary(s).register()
	l.preferences(s).register()
	coaches{s, l.Coaches}.register()
	goals := l.goals(s)
	registerDoc(s, goals.listing(), goals.list)
	goals.register()
	notes := l.checkIns(s) // can only be created and listed
	registerDoc(s, notes.listing(), notes.list)
	register(s, notes.creation(), notes.createWithoutPath)
	registerFiltered(l.memories(s), s.filterMemories)
	registerFiltered(l.todos(s), func(in *todosInput) (ListInput, func(longterm.Todo) bool) {
		return in.ListInput, func(t longterm.Todo) bool { return in.Status == "" || in.Status == string(t.Status) }
	})
}

func (l LongTerm) profile(s *server) singleton[longterm.Profile, profileInput, profileDoc] {
	return singleton[longterm.Profile, profileInput, profileDoc]{s, l.Profile, "profile", "Profile", "profile", ""}
}

func (l LongTerm) seed(s *server) singleton[longterm.Seed, seedDoc, seedDoc] {
	return singleton[longterm.Seed, seedDoc, seedDoc]{s, l.Seed, "seed", "Seed", "seed", ""}
}

func (l LongTerm) userSummary(s *server) singleton[longterm.UserSummary, userSummaryInput, userSummaryDoc] {
	return singleton[longterm.UserSummary, userSummaryInput, userSummaryDoc]{
		s, l.UserSummary, "user-summary", "UserSummary", "user summary",
		"What the app has stored, and after it what was observed in the user's sessions while the preferences " +
			"allow memory. PUT replaces both; what is observed later is added.",
	}
}

func (l LongTerm) preferences(s *server) singleton[longterm.Preferences, preferencesInput, preferencesDoc] {
	return singleton[longterm.Preferences, preferencesInput, preferencesDoc]{
		s, l.Preferences, "preferences", "Preferences", "preferences",
		"A change takes effect at once, for older data too. Switching back restores it.",
	}
}

func (l LongTerm) goals(s *server) collection[longterm.Goal, newGoal, changedGoal, goal] {
	return collection[longterm.Goal, newGoal, changedGoal, goal]{s, l.Goals, "goals", "Goal", "goal"}
}

func (l LongTerm) checkIns(s *server) collection[longterm.CheckIn, newCheckIn, noInput, checkIn] {
	return collection[longterm.CheckIn, newCheckIn, noInput, checkIn]{s, l.CheckIns, "check-ins", "CheckIn", "check-in"}
}

func (l LongTerm) memories(s *server) collection[longterm.Memory, newMemory, changedMemory, Memory] {
	return collection[longterm.Memory, newMemory, changedMemory, Memory]{s, l.Memories, "memories", "Memory", "memory"}
}

func (l LongTerm) todos(s *server) collection[longterm.Todo, newTodo, changedTodo, todo] {
	return collection[longterm.Todo, newTodo, changedTodo, todo]{s, l.Todos, "todos", "Todo", "todo"}
}

// singleton serves a kind of which each user has one record. T is the domain's type, In the body of a PUT, and Doc the
// record in responses.
type singleton[T, In, Doc any] struct {
	*server
	store longterm.Singleton[T]
	// path is the path under /v1, id the name in operation ids, name the name in texts.
	path, id, name, detail string
}

type (
	noInput         struct{}
	docInput[D any] struct{ Body D }
)

func (k singleton[T, In, Doc]) register() {
	registerDoc(k.server, operation{
		method: http.MethodGet, path: "/v1/" + k.path, id: "get" + k.id, tag: longTermTag,
		summary: "Get the " + k.name, detail: k.detail, errors: []int{http.StatusNotFound},
	}, k.get)
	registerDoc(k.server, operation{
		method: http.MethodPut, path: "/v1/" + k.path, id: "put" + k.id, tag: longTermTag,
		summary: "Replace the " + k.name, detail: k.detail,
	}, k.put)
}

func (k singleton[T, In, Doc]) get(ctx context.Context, c Caller, _ *noInput) (Doc, error) {
	record, err := k.store.Get(ctx, c.User)
	return shown[Doc](record), err
}

func (k singleton[T, In, Doc]) put(ctx context.Context, c Caller, in *docInput[In]) (Doc, error) {
	var record T
	err := fill(k.server, &record, in.Body)
	if err == nil {
		record, err = k.store.Put(ctx, c.User, record)
	}
	return shown[Doc](record), err
}

// collection serves a kind of which each user has many records. T is the domain's type, New the body of a POST, Patch
// the body of a PATCH, and View the record in responses.
type collection[T, New, Patch, View any] struct {
	*server
	store longterm.Collection[T]
	// path is the path under /v1, id the name of one record in operation ids, name its name in texts.
	path, id, name string
}

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
	one := operation{path: "/v1/" + k.path + "/{id}", tag: longTermTag}
	register(k.server, k.creation(), k.create)
	registerDoc(k.server, one.as(http.MethodGet, "get"+k.id, "Get a "+k.name), k.get)
	registerDoc(k.server, one.as(http.MethodPatch, "change"+k.id, "Change a "+k.name, http.StatusConflict), k.change)
	registerDone(k.server, one.as(http.MethodDelete, "delete"+k.id, "Delete a "+k.name), k.delete)
}

func (k collection[T, New, Patch, View]) listing() operation {
	return operation{
		method: http.MethodGet, path: "/v1/" + k.path, id: "list" + strings.Replace(k.id+"s", "ys", "ies", 1),
		tag: longTermTag, summary: "List " + k.path, detail: "The newest first, current and past records alike.",
	}
}

// registerFiltered adds the operations of a kind whose list has filters. filter returns the page of an input, and which
// records to keep.
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
	return operation{
		method: http.MethodPost, path: "/v1/" + k.path, id: "create" + k.id, tag: longTermTag,
		status: http.StatusCreated, summary: "Create a " + k.name, errors: []int{http.StatusConflict},
	}
}

func (k collection[T, New, Patch, View]) list(ctx context.Context, c Caller, in *ListInput) (list[View], error) {
	return k.listWhere(ctx, c, *in, func(T) bool { return true })
}

// maxFilterReads is how many pages of the store are read for one page of a filtered list.
const maxFilterReads = 10

// listWhere returns a page of the records to keep. It asks the store for no more than the page has room for, so that
// the store's position is that of the next page.
func (k collection[T, New, Patch, View]) listWhere(
	ctx context.Context, c Caller, in ListInput, keep func(T) bool,
) (list[View], error) {
	return listed(k.server, c, in, true, shown[View], func(page conversation.Page) ([]T, conversation.Position, error) {
		var kept []T
		for range maxFilterReads {
			found, next, err := k.store.List(ctx, c.User, page)
			if err != nil {
				return nil, "", err
			}
			for _, record := range found {
				if keep(record) {
					kept = append(kept, record)
				}
			}
			page.After, page.Limit = next, in.Limit-len(kept)
			if next == "" || page.Limit == 0 {
				break
			}
		}
		return kept, page.After, nil
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
	var record T
	if err := fill(k.server, &record, in.Body); err != nil {
		return stored, false, err
	}
	idem, err := in.idempotency(in.Body)
	if err != nil {
		return stored, false, err
	}
	return k.store.Create(ctx, c.User, record, idem)
}

func (k collection[T, New, Patch, View]) get(ctx context.Context, c Caller, in *RecordPath) (View, error) {
	record, err := k.store.Get(ctx, c.User, in.ID)
	return shown[View](record), err
}

func (k collection[T, New, Patch, View]) change(
	ctx context.Context, c Caller, in *patchInput[Patch],
) (View, error) {
	record, err := k.store.Update(ctx, c.User, in.ID, func(record *T) error { return fill(k.server, record, in.Body) })
	return shown[View](record), err
}

func (k collection[T, New, Patch, View]) delete(ctx context.Context, c Caller, in *RecordPath) error {
	return k.store.Delete(ctx, c.User, in.ID)
}
