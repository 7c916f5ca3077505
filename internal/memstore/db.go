package memstore

import (
	"cmp"
	"reflect"
	"sync"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/sweep"
)

// Options change how a DB works. The zero value has the defaults.
type Options struct {
	// Now is the clock, time.Now by default.
	Now func() time.Time
	// Idle is how long after its first message without a summary a session falls due, 15 minutes by default.
	Idle time.Duration
	// DailyTokens is how many tokens of the models a user may spend in a day. Nothing is counted at 0.
	DailyTokens int
}

const defaultIdle = 15 * time.Minute

// DB is a store in memory. It is safe for concurrent use.
type DB struct {
	now         func() time.Time
	idle        time.Duration
	dailyTokens int

	mu     sync.Mutex
	users  map[conversation.UserID]*user
	leases map[sweep.Shard]lease
	ids    counter
}

// New returns an empty DB.
func New(o Options) *DB {
	if o.Now == nil {
		o.Now = time.Now
	}
	return &DB{
		now: o.Now, idle: cmp.Or(o.Idle, defaultIdle), dailyTokens: o.DailyTokens,
		users: map[conversation.UserID]*user{}, leases: map[sweep.Shard]lease{},
	}
}

// lease is the right of one owner until a time.
type lease struct {
	owner string
	until time.Time
}

// isFree reports whether nobody has the lease.
func (l lease) isFree(now time.Time) bool { return !l.until.After(now) }

// lock locks the DB and returns a user, and the function that unlocks it.
func (db *DB) lock(id conversation.UserID) (*user, func()) {
	db.mu.Lock()
	u, ok := db.users[id]
	if !ok {
		u = &user{id: id, records: newRecords(), spent: map[string]int64{}}
		db.users[id] = u
	}
	return u, db.mu.Unlock
}

// clock returns the time as it is stored.
func (db *DB) clock() time.Time { return conversation.Milliseconds(db.now()) }

// newID returns an id that no other record has.
func (db *DB) newID(kind string, at time.Time) string { return conversation.NewID(kind, at, &db.ids) }

// newToken returns the name of one holder of something.
func (db *DB) newToken() string {
	const digits = 10
	return conversation.RandomDigits(&db.ids, digits)
}

// counter is a source of ids that counts: the digits of each id are those of the next number.
type counter uint64

// Read writes the next number, five bits a byte.
func (c *counter) Read(p []byte) (int, error) {
	const bits = 5
	*c++
	for i, left := 0, uint64(*c); i < len(p); i, left = i+1, left>>bits {
		p[len(p)-1-i] = byte(left & (1<<bits - 1))
	}
	return len(p), nil
}

// copied returns a deep copy of a value, as a store on disk would return it.
func copied[T any](v T) T {
	out, _ := reflect.TypeAssert[T](copyOf(reflect.ValueOf(&v).Elem()))
	return out
}

func copyOf(v reflect.Value) reflect.Value {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			out := reflect.New(v.Type().Elem())
			out.Elem().Set(copyOf(v.Elem()))
			return out
		}
	case reflect.Interface:
		if !v.IsNil() {
			return copyOf(v.Elem()).Convert(v.Type())
		}
	case reflect.Slice:
		if !v.IsNil() {
			out := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
			for i := range v.Len() {
				out.Index(i).Set(copyOf(v.Index(i)))
			}
			return out
		}
	case reflect.Map:
		if !v.IsNil() {
			out := reflect.MakeMapWithSize(v.Type(), v.Len())
			for key, value := range v.Seq2() {
				out.SetMapIndex(key, copyOf(value))
			}
			return out
		}
	case reflect.Struct:
		return copyOfStruct(v)
	}
	return v
}

func copyOfStruct(v reflect.Value) reflect.Value {
	if at, ok := reflect.TypeAssert[time.Time](v); ok {
		return reflect.ValueOf(conversation.Milliseconds(at))
	}
	out := reflect.New(v.Type()).Elem()
	out.Set(v)
	for i := range v.NumField() {
		if v.Type().Field(i).IsExported() {
			out.Field(i).Set(copyOf(v.Field(i)))
		}
	}
	return out
}
