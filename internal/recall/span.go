package recall

import (
	"context"

	"github.com/throughline/throughline/internal/span"
)

// searchSpan is the span of a search.
type searchSpan struct{ span.Span }

func startSpan(ctx context.Context) (context.Context, searchSpan) {
	ctx, of := span.Start(ctx, "search_memory")
	of.Set(span.Operation, "search_memory")
	return ctx, searchSpan{of}
}

func (s searchSpan) end(found Found, err error) {
	if err == nil {
		s.Set(span.Records, len(found.Hits))
		s.Set("throughline.degraded", Sources(found.Degraded))
	}
	s.End(err)
}

// Sources are the names of the sources that did not answer.
func Sources(degraded []Degradation) (names []string) {
	for _, d := range degraded {
		names = append(names, d.Source)
	}
	return names
}
