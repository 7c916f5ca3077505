// Package check has the checks that almost every test needs. Each says where the test called it.
package check

import (
	"fmt"
	"strings"

	"github.com/google/go-cmp/cmp"

	"github.com/throughline/throughline/internal/fault"
)

// T is what a check needs of a test. A testing.TB and a rapid.T have it.
type T interface {
	Helper()
	Fatal(args ...any)
	Errorf(format string, args ...any)
}

// OK ends the test on an error.
func OK(t T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Got returns a function that returns the value, and ends the test on the error: v := check.Got(f())(t).
func Got[V any](v V, err error) func(T) V {
	return func(t T) V {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// Same reports what differs between two values. The format says what is compared.
func Same(t T, want, got any, format string, args ...any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", fmt.Sprintf(format, args...), diff)
	}
}

// Equal reports that a value is another one. The format says what is compared.
func Equal[V comparable](t T, want, got V, format string, args ...any) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %#v, want %#v", fmt.Sprintf(format, args...), got, want)
	}
}

// Fault reports an error that does not have the code. The format says what was tried.
func Fault(t T, err error, code fault.Code, format string, args ...any) {
	t.Helper()
	if !fault.Is(err, code) {
		t.Errorf("%s: %v, want %s", fmt.Sprintf(format, args...), err, code)
	}
}

// ErrorOf returns the error of a call that also returns a value.
func ErrorOf[V any](_ V, err error) error { return err }

// Contains reports a text that does not have a part. The format says what the text is.
func Contains(t T, text, part, format string, args ...any) {
	t.Helper()
	if !strings.Contains(text, part) {
		t.Errorf("%s: no %q in\n%s", fmt.Sprintf(format, args...), part, text)
	}
}

// Lacks reports a text that has a part which it must not have. The format says what the text is.
func Lacks(t T, text, part, format string, args ...any) {
	t.Helper()
	if strings.Contains(text, part) {
		t.Errorf("%s: there is %q in\n%s", fmt.Sprintf(format, args...), part, text)
	}
}
