package metric

import "context"

// Vendor is a service of a vendor in the names of metrics.
type Vendor string

// The vendors' services. The service of the embeddings may be another one than that of the model.
const (
	Model     Vendor = "Model"
	Embedding Vendor = "Embedding"
	Vector    Vendor = "Vector"
)

// Failure is a kind of failure of a call, and what an operator does about it differs by kind.
type Failure string

// The kinds of failures. Late is a call that the caller's own deadline ended. A deadline may be short on purpose, so
// Late is counted beside the failures and is not one of them.
const (
	Limit   Failure = "limit"   // too many calls or tokens in a minute, 429
	Quota   Failure = "quota"   // the plan's or the account's limit is reached
	Key     Failure = "key"     // the key is wrong, or may not do this
	Down    Failure = "down"    // an error of the service, or no connection
	Slow    Failure = "slow"    // no answer in time
	Refused Failure = "refused" // the service refuses what it is asked
	Late    Failure = "late"
)

// Call counts one call of a vendor's service, however often it was tried, and its failure unless that is empty. A call
// that succeeds counts no failures as 0, so that the share of failures is known in every minute that has a call.
func Call(ctx context.Context, v Vendor, f Failure) {
	failed := 0.0
	if f != "" {
		Add(ctx, string(v)+"Failures."+string(f), 1, Count)
		if f != Late {
			failed = 1
		}
	}
	Add(ctx, string(v)+"Calls", 1, Count)
	Add(ctx, string(v)+"Failures", failed, Count)
}
