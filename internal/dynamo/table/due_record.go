package table

import (
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	"github.com/throughline/throughline/internal/sweep"
)

// queueOf returns the queue of the records with a sort key.
func queueOf(sk string) sweep.Queue {
	if _, _, isSession := ParseSessionSK(sk); isSession {
		return sweep.Sessions
	}
	if IsTombstone(Key{SK: sk}) || strings.HasPrefix(sk, ForgottenPrefix) {
		return sweep.Deletions
	}
	if strings.HasPrefix(sk, SpineMarkPrefix) {
		return sweep.Spines
	}
	if strings.HasPrefix(sk, SkippedPrefix) {
		return sweep.Skipped
	}
	return sweep.Records
}

// SetDue makes a record fall due.
func SetDue(u expression.UpdateBuilder, k Key, at time.Time) expression.UpdateBuilder {
	return u.Set(Field(AttrDueAt), Value(TimeAttr(at))).Set(Field(AttrDueShard), Value(IntAttr(DueShard(k))))
}

// SetDueIfNone makes a record that is not in the due index fall due.
func SetDueIfNone(u expression.UpdateBuilder, k Key, at time.Time) expression.UpdateBuilder {
	return u.
		Set(Field(AttrDueAt), Field(AttrDueAt).IfNotExists(Value(TimeAttr(at)))).
		Set(Field(AttrDueShard), Field(AttrDueShard).IfNotExists(Value(IntAttr(DueShard(k)))))
}

// RemoveDue removes a record from the due index.
func RemoveDue(u expression.UpdateBuilder) expression.UpdateBuilder {
	return EndFailures(EndClaim(u.Remove(Field(AttrDueAt)).Remove(Field(AttrDueShard))))
}

// EndClaim removes the marks of a claim.
func EndClaim(u expression.UpdateBuilder) expression.UpdateBuilder {
	return u.Remove(Field(AttrClaimedVersion)).Remove(Field(AttrClaimedBy))
}

// EndFailures removes what is known of the attempts since work on the record last succeeded.
func EndFailures(u expression.UpdateBuilder) expression.UpdateBuilder {
	return u.Remove(Field(AttrFailures)).Remove(Field(AttrDueSince))
}
