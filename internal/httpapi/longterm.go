package httpapi

import (
	"context"
	"net/http"

	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/longterm"
)

// LongTerm are the stores of what the user is and wants (api 3). All are needed.
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

// recordTag groups the operations of this kind in the document.
const recordTag = "What the user is and wants"

// register adds the operations of every kind of record.
func (l LongTerm) register(s *server, tokens Counter) {
	profile(s, l.Profile).register()
	seed(s, l.Seed).register()
	userSummary(s, l.UserSummary).register()
	preferences(s, l.Preferences).register()
	coaches{s, l.Coaches}.register()
	goals(s, l.Goals).register()
	checkIns(s, l.CheckIns, tokens).registerNotes()
	memories(s, l.Memories, tokens).register()
	todos(s, l.Todos, tokens).register()
}

// singleton serves the one record of a kind: T as the domain has it, Doc as the API shows it and takes it.
type singleton[T, Doc any] struct {
	*server
	store longterm.Singleton[T]
	// path is the record's under /v1, id its name in operation ids, one its name in words.
	path, id, one, detail string
	read                  func(Doc) (T, error)
	view                  func(T) Doc
}

type (
	nothing          struct{}
	docInput[D any]  struct{ Body D }
	docOutput[D any] struct{ Body D }
)

func (k singleton[T, Doc]) register() {
	register(k.server, operation{
		method: http.MethodGet, path: "/v1/" + k.path, id: "get" + k.id, tag: recordTag,
		summary: "Get the " + k.one, detail: k.detail, errors: []int{http.StatusNotFound},
	}, k.get)
	register(k.server, operation{
		method: http.MethodPut, path: "/v1/" + k.path, id: "put" + k.id, tag: recordTag,
		summary: "Replace the " + k.one, detail: k.detail,
	}, k.put)
}

func (k singleton[T, Doc]) get(ctx context.Context, c Caller, _ *nothing) (*docOutput[Doc], error) {
	record, err := k.store.Get(ctx, c.User)
	if err != nil {
		return nil, err
	}
	return &docOutput[Doc]{Body: k.view(record)}, nil
}

func (k singleton[T, Doc]) put(ctx context.Context, c Caller, in *docInput[Doc]) (*docOutput[Doc], error) {
	record, err := k.read(in.Body)
	if err != nil {
		return nil, err
	}
	stored, err := k.store.Put(ctx, c.User, record)
	if err != nil {
		return nil, err
	}
	return &docOutput[Doc]{Body: k.view(stored)}, nil
}

// collection serves the many records of a kind: T as the domain has it, New and Patch as the API takes it, View as it
// shows it.
type collection[T, New, Patch, View any] struct {
	*server
	store longterm.Collection[T]
	// path is the collection's under /v1, id one record's name in operation ids, one its name in words.
	path, id, one, detail string
	// read makes a record of what the client gives; alter changes one.
	read  func(New) (T, error)
	alter func(Patch, *T) error
	view  func(T) View
	// key is a record's id.
	key func(T) string
}

// RecordPath is the path of one record of a collection.
type RecordPath struct {
	ID string `path:"id" doc:"The record's id."`
}

type (
	newInput[N any] struct {
		Keyed
		Body N
	}
	patchInput[P any] struct {
		RecordPath
		Body P
	}
)

func (k collection[T, New, Patch, View]) register() {
	k.registerList()
	register(k.server, k.creation(), k.create)
	register(k.server, operation{
		method: http.MethodGet, path: "/v1/" + k.path + "/{id}", id: "get" + k.id, tag: recordTag, summary: "Get a " + k.one,
	}, k.get)
	register(k.server, operation{
		method: http.MethodPatch, path: "/v1/" + k.path + "/{id}", id: "change" + k.id, tag: recordTag, summary: "Change a " + k.one,
		errors: []int{http.StatusConflict},
	}, k.change)
	register(k.server, operation{
		method: http.MethodDelete, path: "/v1/" + k.path + "/{id}", id: "delete" + k.id, tag: recordTag, status: noContent,
		summary: "Delete a " + k.one,
	}, k.delete)
}

// registerNotes adds the operations of a kind whose records are made and listed only.
func (k collection[T, New, Patch, View]) registerNotes() {
	k.registerList()
	register(k.server, k.creation(), k.note)
}

func (k collection[T, New, Patch, View]) registerList() {
	register(k.server, operation{
		method: http.MethodGet, path: "/v1/" + k.path, id: "list" + k.id + "s", tag: recordTag,
		summary: "List " + k.path, detail: "Newest first, live and past alike.",
	}, k.list)
}

func (k collection[T, New, Patch, View]) creation() operation {
	return operation{
		method: http.MethodPost, path: "/v1/" + k.path, id: "create" + k.id, tag: recordTag, status: http.StatusCreated,
		summary: "Create a " + k.one, detail: k.detail, errors: []int{http.StatusConflict},
	}
}

func (k collection[T, New, Patch, View]) list(ctx context.Context, c Caller, in *ListInput) (*listOutput[View], error) {
	page, bound, err := k.page(c, *in, true)
	if err != nil {
		return nil, err
	}
	found, next, err := k.store.List(ctx, c.User, page)
	if err != nil {
		return nil, err
	}
	return listed(k.server, bound, found, next, k.view), nil
}

func (k collection[T, New, Patch, View]) create(ctx context.Context, c Caller, in *newInput[New]) (*created[View], error) {
	stored, replayed, err := k.add(ctx, c, in)
	if err != nil {
		return nil, err
	}
	return newCreated(k.view(stored), pathOf(k.path, k.key(stored)), replayed), nil
}

// note is create of records that have no path of their own.
func (k collection[T, New, Patch, View]) note(ctx context.Context, c Caller, in *newInput[New]) (*noted[View], error) {
	stored, replayed, err := k.add(ctx, c, in)
	if err != nil {
		return nil, err
	}
	return &noted[View]{Body: k.view(stored), Replayed: replayedText(replayed)}, nil
}

func (k collection[T, New, Patch, View]) add(ctx context.Context, c Caller, in *newInput[New]) (stored T, replayed bool, err error) {
	record, err := k.read(in.Body)
	if err != nil {
		return stored, false, err
	}
	idem, err := in.idempotency(in.Body)
	if err != nil {
		return stored, false, err
	}
	return k.store.Create(ctx, c.User, record, idem)
}

func (k collection[T, New, Patch, View]) get(ctx context.Context, c Caller, in *RecordPath) (*docOutput[View], error) {
	return k.answer(in, func() (T, error) { return k.store.Get(ctx, c.User, in.ID) })
}

func (k collection[T, New, Patch, View]) change(ctx context.Context, c Caller, in *patchInput[Patch]) (*docOutput[View], error) {
	return k.answer(&in.RecordPath, func() (T, error) {
		return k.store.Update(ctx, c.User, in.ID, func(record *T) error { return k.alter(in.Body, record) })
	})
}

func (k collection[T, New, Patch, View]) delete(ctx context.Context, c Caller, in *RecordPath) (*empty, error) {
	_, err := k.answer(in, func() (T, error) {
		var none T
		return none, k.store.Delete(ctx, c.User, in.ID)
	})
	return &empty{}, err
}

// answer shows the record that a call of the store returns, unless no record can have the id.
func (k collection[T, New, Patch, View]) answer(in *RecordPath, call func() (T, error)) (*docOutput[View], error) {
	if !plausibleID(in.ID) {
		return nil, fault.Missing(k.one)
	}
	record, err := call()
	if err != nil {
		return nil, err
	}
	return &docOutput[View]{Body: k.view(record)}, nil
}

// wrongOr returns an Invalid error that reports the fields together, or nil where there are none.
func wrongOr(fields ...[]fault.Field) error {
	var all []fault.Field
	for _, some := range fields {
		all = append(all, some...)
	}
	if len(all) == 0 {
		return nil
	}
	return fault.InvalidFields(all...)
}
