package function_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"

	"github.com/throughline/throughline/internal/function"
	"github.com/throughline/throughline/internal/metric"
)

// TestAStreamIsMeasuredToItsEnd adds a value while the answer is read, as the chat adds its usage.
func TestAStreamIsMeasuredToItsEnd(t *testing.T) {
	t.Parallel()
	var lines bytes.Buffer
	rt := function.Runtime{Metrics: &lines, Stack: "app"}
	answer := func(body io.Reader, err error) (*events.LambdaFunctionURLStreamingResponse, error) {
		lines.Reset()
		h := function.MeasuredStream(rt, "coach", func(
			ctx context.Context, _ *events.LambdaFunctionURLRequest,
		) (*events.LambdaFunctionURLStreamingResponse, error) {
			late := reading(func() { metric.Add(ctx, "ModelCachedTokens", 7, metric.Count) })
			return &events.LambdaFunctionURLStreamingResponse{Body: io.MultiReader(body, late)}, err
		})
		return h(t.Context(), nil)
	}
	out, err := answer(strings.NewReader("text"), nil)
	if err != nil || lines.Len() > 0 {
		t.Fatalf("before the stream: %q, %v", lines.String(), err)
	}
	if text, err := io.ReadAll(out.Body); string(text) != "text" || err != nil {
		t.Errorf("read %q, %v", text, err)
	}
	if got := lines.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, `"ModelCachedTokens":7`) {
		t.Errorf("wrote %q", got)
	}
	if err := out.Body.(io.Closer).Close(); err != nil || strings.Count(lines.String(), "\n") != 1 {
		t.Errorf("closed: %q, %v", lines.String(), err)
	}
	if out, err = answer(strings.NewReader("text"), nil); err != nil {
		t.Fatal(err)
	}
	if err := out.Body.(io.Closer).Close(); err != nil || strings.Count(lines.String(), "\n") != 1 {
		t.Errorf("closed before its end: %q, %v", lines.String(), err)
	}
	if _, err := answer(nil, errors.New("refused")); err == nil || strings.Count(lines.String(), "\n") != 1 {
		t.Errorf("refused: %q, %v", lines.String(), err)
	}
}

// reading is an empty stream that does something when it is read.
type reading func()

func (r reading) Read([]byte) (int, error) {
	r()
	return 0, io.EOF
}
