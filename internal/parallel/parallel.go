// Package parallel runs the parts of a batch side by side, under a bound.
package parallel

import (
	"sync/atomic"

	"golang.org/x/sync/errgroup"
)

// Each calls do for 0 to n-1, at most limit at once, and waits for all. A panic of one is raised again in the
// caller, where a batch's handler can set the record aside: in a goroutine of its own it would end the process.
func Each(n, limit int, do func(i int)) {
	var raised atomic.Pointer[any]
	var work errgroup.Group
	work.SetLimit(limit)
	for i := range n {
		work.Go(func() error {
			defer func() {
				if v := recover(); v != nil {
					raised.CompareAndSwap(nil, &v)
				}
			}()
			do(i)
			return nil
		})
	}
	_ = work.Wait() // do has no error
	if v := raised.Load(); v != nil {
		panic(*v)
	}
}
