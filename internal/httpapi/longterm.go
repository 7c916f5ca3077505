package httpapi

import (
	"context"
	"net/http"
	"strings"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/llm"
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

func (l LongTerm) register(s *server, tokens llm.Counter) {
	profile(s, l.Profile).register()
	seed(s, l.Seed).register()
	userSummary(s, l.UserSummary).register()
	preferences(s, l.Preferences).register()
	coaches{s, l.Coaches}.register()
	goals(s, l.Goals).register()
	notes := checkIns(s, l.CheckIns, tokens) // can only be created and listed
	registerDoc(s, notes.listing(), notes.list)
	register(s, notes.creation(), notes.createWithoutPath)
	registerFiltered(memories(s, l.Memories, tokens), s.filterMemories)
	registerFiltered(todos(s, l.Todos, tokens), func(in *todosInput) (ListInput, func(longterm.Todo) bool) {
		return in.ListInput, func(t longterm.Todo) bool { return in.Status == "" || in.Status == string(t.Status) }
	})
}

// singleton serves a kind of which each user has one record. T is the domain's type, In the body of a PUT, and Doc the
// record in responses.
type singleton[T, In, Doc any] struct {
	*server
	store longterm.Singleton[T]
	// path is the path under /v1, id the name in operation ids, name the name in texts.
	path, id, name, detail string
	fromInput              func(In) (T, error)
	toDoc                  func(T) Doc
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
	return k.toDoc(record), err
}

func (k singleton[T, In, Doc]) put(ctx context.Context, c Caller, in *docInput[In]) (Doc, error) {
	record, err := k.fromInput(in.Body)
	if err == nil {
		record, err = k.store.Put(ctx, c.User, record)
	}
	return k.toDoc(record), err
}

// collection serves a kind of which each user has many records. T is the domain's type, New the body of a POST, Patch
// the body of a PATCH, and View the record in responses.
type collection[T, New, Patch, View any] struct {
	*server
	store longterm.Collection[T]
	// path is the path under /v1, id the name of one record in operation ids, name its name in texts.
	path, id, name, detail string
	fromNew                func(New) (T, error)
	applyPatch             func(Patch, *T) error
	toView                 func(T) View
	recordID               func(T) string
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

func (k collection[T, New, Patch, View]) register() {
	registerDoc(k.server, k.listing(), k.list)
	k.registerRecords()
}

// registerRecords adds the operations but the list.
func (k collection[T, New, Patch, View]) registerRecords() {
	register(k.server, k.creation(), k.create)
	registerDoc(k.server, operation{
		method: http.MethodGet, path: "/v1/" + k.path + "/{id}", id: "get" + k.id, tag: longTermTag,
		summary: "Get a " + k.name,
	}, k.get)
	registerDoc(k.server, operation{
		method: http.MethodPatch, path: "/v1/" + k.path + "/{id}", id: "change" + k.id, tag: longTermTag,
		summary: "Change a " + k.name, errors: []int{http.StatusConflict},
	}, k.change)
	registerDone(k.server, operation{
		method: http.MethodDelete, path: "/v1/" + k.path + "/{id}", id: "delete" + k.id, tag: longTermTag,
		status: http.StatusNoContent, summary: "Delete a " + k.name,
	}, k.delete)
}

func (k collection[T, New, Patch, View]) listing() operation {
	return operation{
		method: http.MethodGet, path: "/v1/" + k.path, id: "list" + plural(k.id), tag: longTermTag,
		summary: "List " + k.path, detail: "The newest first, current and past records alike.",
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
	k.registerRecords()
}

// plural returns the plural of a noun of the API.
func plural(noun string) string {
	if stem, ok := strings.CutSuffix(noun, "y"); ok {
		return stem + "ies"
	}
	return noun + "s"
}

func (k collection[T, New, Patch, View]) creation() operation {
	return operation{
		method: http.MethodPost, path: "/v1/" + k.path, id: "create" + k.id, tag: longTermTag,
		status: http.StatusCreated, summary: "Create a " + k.name, detail: k.detail, errors: []int{http.StatusConflict},
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
	return listed(k.server, c, in, true, k.toView, func(page conversation.Page) ([]T, conversation.Position, error) {
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
	return newCreated(k.toView(stored), pathOf(k.path, k.recordID(stored)), replayed), nil
}

func (k collection[T, New, Patch, View]) createWithoutPath(
	ctx context.Context, c Caller, in *newInput[New],
) (*createdWithoutPath[View], error) {
	stored, replayed, err := k.add(ctx, c, in)
	if err != nil {
		return nil, err
	}
	return &createdWithoutPath[View]{Body: k.toView(stored), Replayed: newReplayed(replayed)}, nil
}

func (k collection[T, New, Patch, View]) add(
	ctx context.Context, c Caller, in *newInput[New],
) (stored T, replayed bool, err error) {
	record, err := k.fromNew(in.Body)
	if err != nil {
		return stored, false, err
	}
	idem, err := in.idempotency(in.Body)
	if err != nil {
		return stored, false, err
	}
	return k.store.Create(ctx, c.User, record, idem)
}

func (k collection[T, New, Patch, View]) get(ctx context.Context, c Caller, in *RecordPath) (View, error) {
	return k.answer(in, func() (T, error) { return k.store.Get(ctx, c.User, in.ID) })
}

func (k collection[T, New, Patch, View]) change(
	ctx context.Context, c Caller, in *patchInput[Patch],
) (View, error) {
	return k.answer(&in.RecordPath, func() (T, error) {
		return k.store.Update(ctx, c.User, in.ID, func(record *T) error { return k.applyPatch(in.Body, record) })
	})
}

func (k collection[T, New, Patch, View]) delete(ctx context.Context, c Caller, in *RecordPath) error {
	_, err := k.answer(in, func() (record T, err error) {
		return record, k.store.Delete(ctx, c.User, in.ID)
	})
	return err
}

// answer returns the record that a call of the store returns. It returns NotFound for an id that no record can have.
func (k collection[T, New, Patch, View]) answer(in *RecordPath, call func() (T, error)) (view View, err error) {
	if !plausibleID(in.ID) {
		return view, fault.Missing(k.name)
	}
	record, err := call()
	return k.toView(record), err
}
