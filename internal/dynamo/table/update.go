package table

import (
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	"github.com/throughline/throughline/internal/conversation"
)

// Update is a change of a record's attributes, which are named by their paths. Each method adds to the update and
// returns it. The zero value changes nothing.
type Update struct{ built expression.UpdateBuilder }

// Set returns the update that sets an attribute.
func Set(name string, v any) Update { return Update{}.Set(name, v) }

// Remove returns the update that removes attributes.
func Remove(names ...string) Update { return Update{}.Remove(names...) }

// Add returns the update that adds to a number.
func Add(name string, n any) Update { return Update{}.Add(name, n) }

// Set sets an attribute.
func (u Update) Set(name string, v any) Update { return u.SetTo(name, Value(v)) }

// SetTo sets an attribute to the value of an expression.
func (u Update) SetTo(name string, v expression.OperandBuilder) Update {
	return Update{u.built.Set(Field(name), v)}
}

// SetIfNone sets an attribute that the record does not have.
func (u Update) SetIfNone(name string, v any) Update {
	return u.SetTo(name, Field(name).IfNotExists(Value(v)))
}

// SetOrRemove sets an attribute or removes it.
func (u Update) SetOrRemove(name string, v any, set bool) Update {
	if set {
		return u.Set(name, v)
	}
	return u.Remove(name)
}

// Apply sets the attributes of the names that an item has, and removes those that it lacks.
func (u Update) Apply(it Item, names ...string) Update {
	for _, name := range names {
		u = u.SetOrRemove(name, it[name], it.Has(name))
	}
	return u
}

// Remove removes attributes.
func (u Update) Remove(names ...string) Update {
	for _, name := range names {
		u = Update{u.built.Remove(Field(name))}
	}
	return u
}

// Add adds to a number.
func (u Update) Add(name string, n any) Update {
	return Update{u.built.Add(Field(name), Value(n))}
}

// SetWatermark sets a watermark in the attributes of its seq and its time.
func (u Update) SetWatermark(seq, at string, w conversation.Watermark) Update {
	return u.Set(seq, w.Seq).SetOrRemove(at, w.At, !w.At.IsZero())
}

// SetDue makes a record fall due.
func (u Update) SetDue(k Key, at time.Time) Update {
	return u.Set(AttrDueAt, at).Set(AttrDueShard, DueShard(k))
}

// SetDueIfNone makes a record that is not in the due index fall due.
func (u Update) SetDueIfNone(k Key, at time.Time) Update {
	return u.SetIfNone(AttrDueAt, at).SetIfNone(AttrDueShard, DueShard(k))
}

// RemoveDue removes a record from the due index.
func (u Update) RemoveDue() Update { return u.Remove(AttrDueAt, AttrDueShard).EndClaim().EndFailures() }

// EndClaim removes the marks of a claim.
func (u Update) EndClaim() Update { return u.Remove(AttrClaimedVersion, AttrClaimedBy, AttrClaimedAt) }

// EndFailures removes what is known of the attempts since work on the record last succeeded.
func (u Update) EndFailures() Update { return u.Remove(AttrFailures, AttrDueSince) }

// Condition is a condition on a record.
type Condition = expression.ConditionBuilder

// Is is the condition that an attribute has a value.
func Is(name string, v any) Condition { return Field(name).Equal(Value(v)) }

// IsBelow is the condition that an attribute is less than a value. A record without the attribute does not meet it.
func IsBelow(name string, v any) Condition { return Field(name).LessThan(Value(v)) }

// IsAtMost is the condition that an attribute is not greater than a value. A record without it does not meet it.
func IsAtMost(name string, v any) Condition {
	return Field(name).LessThanEqual(Value(v))
}

// Has is the condition that a record has an attribute.
func Has(name string) Condition { return expression.AttributeExists(Field(name)) }

// Lacks is the condition that a record does not have an attribute.
func Lacks(name string) Condition { return expression.AttributeNotExists(Field(name)) }
