package unitbench_test

import (
	"math"
	"os"
	"testing"

	"github.com/throughline/throughline/infra/bench/scale/forecast"
	"github.com/throughline/throughline/infra/bench/scale/unitbench"
	"github.com/throughline/throughline/infra/local/dynamodblocal/dynamodbtest"
)

func TestMain(m *testing.M) { dynamodbtest.Main(m) }

// TestPublishedUnitsAreThoseOfTheCode plays one session and compares it with the numbers that docs/scale.md is made of.
// What grows with the user's history, as a prompt's reads do, is not compared.
func TestPublishedUnitsAreThoseOfTheCode(t *testing.T) {
	t.Parallel()
	published, err := forecast.Load(os.DirFS("../../../../docs/scale"))
	if err != nil {
		t.Fatal(err)
	}
	turns := published.Workload.TurnsPerSession
	got, err := unitbench.Run(t.Context(), dynamodbtest.Endpoint(t), unitbench.Settings{Sessions: 1, Turns: turns})
	if err != nil {
		t.Fatal(err)
	}
	for what, of := range map[string]func(unitbench.Use) float64{
		"DynamoDB calls": func(u unitbench.Use) float64 { return u.DynamoDBCalls },
		"write units":    func(u unitbench.Use) float64 { return u.WriteUnits },
		"model calls":    func(u unitbench.Use) float64 { return u.ModelCalls },
		"vectors":        func(u unitbench.Use) float64 { return u.Vectors },
		"index queries":  func(u unitbench.Use) float64 { return u.IndexQueries },
	} {
		now, then := 0.0, 0.0
		for name, u := range got.Session {
			now, then = now+of(u), then+of(published.Units.Session[name])
		}
		if math.Abs(now-then) > then/4 {
			t.Errorf("%s of a session: %v are published, and it has %v: run make bench-scale", what, then, now)
		}
	}
	if got.TableBytes <= 0 || got.IndexBytes <= 0 || got.Records < float64(2*turns) {
		t.Errorf("a session leaves %v bytes and %v in %v records", got.TableBytes, got.IndexBytes, got.Records)
	}
}
