package dynamo_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"pgregory.net/rapid"

	"github.com/throughline/throughline/internal/document"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/testing/dynamotest"
)

// recordCalls returns the remote calls of a write to a long-term record.
func recordCalls() []remoteCall {
	return []remoteCall{
		{dynamotest.Transact, 0},
		{dynamotest.Transact, 1},
		{dynamotest.BatchGet, 0},
		{dynamotest.QueryCall, 0},
	}
}

// drawRecord draws the name of a record of one kind. ok is false where there is none.
func (sim *simulation) drawRecord(kind string) (name string, ok bool) {
	var names []string
	for n := range sim.want.Records {
		if strings.HasPrefix(n, kind+"/") {
			names = append(names, n)
		}
	}
	if len(names) == 0 {
		return "", false
	}
	slices.Sort(names)
	return rapid.SampledFrom(names).Draw(sim.rt, "record"), true
}

func (sim *simulation) drawCollection() collection {
	return rapid.SampledFrom(collections()).Draw(sim.rt, "collection")
}

// doneBefore returns nil for a NotFound error of a later attempt: an earlier one has deleted the record.
func doneBefore(again bool, err error) error {
	if again && fault.Is(err, fault.NotFound) {
		return nil
	}
	return err
}

func (sim *simulation) createRecord() {
	c, key := sim.drawCollection(), sim.drawKey()
	live := c.kind == "check-in" || rapid.Bool().Draw(sim.rt, "live")
	e := entry{name: sim.newName(), live: live, at: sim.clock.Time()}
	name := c.kind + "/" + e.name
	if m, ok := sim.drawMessage(); ok && c.kind == "memory" && rapid.Bool().Draw(sim.rt, "extracted") {
		e.source = sim.ids["message/"+m.content]
		sim.ids["source/"+name] = m.session + "/" + m.content
	}
	do := func(ctx context.Context, p *process) error {
		id, err := c.create(ctx, p.Stores, sim.user, e, key)
		if err == nil {
			sim.ids[name] = id
		}
		return err
	}
	_, err := sim.call(clientCall{recordCalls(), key.Set(), do})
	sim.saveRepeat(key, err, do)
	sim.expect("create "+c.kind, err, func(s *state) { s.Records[name] = e.value() })
}

func (sim *simulation) updateRecord() {
	c := sim.drawCollection()
	name, ok := sim.drawRecord(c.kind)
	if !ok {
		return
	}
	e := entry{live: c.kind == "check-in" || rapid.Bool().Draw(sim.rt, "live")}
	_, err := sim.call(clientCall{recordCalls(), sim.drawRetries(), func(ctx context.Context, p *process) error {
		return c.update(ctx, p.Stores, sim.user, sim.ids[name], e)
	}})
	sim.expect("update "+c.kind, err, func(s *state) { s.Records[name] = e.value() })
}

func (sim *simulation) deleteRecord() {
	c := sim.drawCollection()
	name, ok := sim.drawRecord(c.kind)
	if !ok {
		return
	}
	remote := []remoteCall{{dynamotest.Transact, 1}, {dynamotest.DeleteItem, 1}, {dynamotest.BatchGet, 0}}
	again, err := sim.call(clientCall{remote, sim.drawRetries(), func(ctx context.Context, p *process) error {
		return c.delete(ctx, p.Stores, sim.user, sim.ids[name])
	}})
	sim.checkInDeleted = sim.checkInDeleted || c.kind == "check-in"
	sim.expect("delete "+c.kind, doneBefore(again, err), func(s *state) { delete(s.Records, name) })
}

// putSingleton replaces a record of which a user has one, or a coach.
func (sim *simulation) putSingleton() {
	names := []string{"profile", "seed", "preferences", "coach/x", "coach/y"}
	name, value := rapid.SampledFrom(names).Draw(sim.rt, "name"), sim.newName()
	_, err := sim.call(clientCall{recordCalls(), sim.drawRetries(), func(ctx context.Context, p *process) error {
		switch name {
		case "profile":
			return errorOf(p.Profiles.Put(ctx, sim.user, longterm.Profile{Name: value}))
		case "seed":
			return errorOf(p.Seeds.Put(ctx, sim.user, longterm.Seed{Content: value}))
		case "preferences":
			return errorOf(p.Preferences.Put(ctx, sim.user, longterm.Preferences{Timezone: value}))
		}
		coach := longterm.Coach{ID: strings.TrimPrefix(name, "coach/"), Name: value}
		return errorOf(p.Coaches.PutCoach(ctx, sim.user, coach))
	}})
	sim.expect("put "+name, err, func(s *state) { s.Records[name] = value })
}

func (sim *simulation) deleteCoach() {
	name, ok := sim.drawRecord("coach")
	if !ok {
		return
	}
	remote := []remoteCall{{dynamotest.DeleteItem, 1}, {dynamotest.BatchGet, 0}}
	again, err := sim.call(clientCall{remote, sim.drawRetries(), func(ctx context.Context, p *process) error {
		return p.Coaches.DeleteCoach(ctx, sim.user, strings.TrimPrefix(name, "coach/"))
	}})
	sim.expect("delete coach", doneBefore(again, err), func(s *state) { delete(s.Records, name) })
}

// putDocument replaces a document or adds one.
func (sim *simulation) putDocument() {
	key, value := rapid.SampledFrom([]string{"x", "y"}).Draw(sim.rt, "key"), sim.newName()
	text := fmt.Sprintf("{%q:%q}", "name", value)
	put := document.Put{Namespace: document.Namespace{"a"}, Key: key, Value: json.RawMessage(text)}
	if rapid.Bool().Draw(sim.rt, "is not indexed") {
		put.Index = []string{}
	}
	remote := []remoteCall{{dynamotest.Transact, 0}, {dynamotest.BatchGet, 0}, {dynamotest.BatchGet, 1}}
	_, err := sim.call(clientCall{remote, sim.drawRetries(), func(ctx context.Context, p *process) error {
		d, err := put.Document(sim.clock.Time())
		if err != nil {
			return err
		}
		_, _, err = p.Documents.PutDocument(ctx, sim.user, d)
		return err
	}})
	sim.expect("put document", err, func(s *state) { s.Records["document/"+key] = value })
}

func (sim *simulation) deleteDocument() {
	name, ok := sim.drawRecord("document")
	if !ok {
		return
	}
	remote := []remoteCall{{dynamotest.Transact, 0}, {dynamotest.BatchGet, 0}, {dynamotest.BatchGet, 1}}
	again, err := sim.call(clientCall{remote, sim.drawRetries(), func(ctx context.Context, p *process) error {
		return p.Documents.DeleteDocument(ctx, sim.user, document.Namespace{"a"}, strings.TrimPrefix(name, "document/"))
	}})
	sim.expect("delete document", doneBefore(again, err), func(s *state) { delete(s.Records, name) })
}
