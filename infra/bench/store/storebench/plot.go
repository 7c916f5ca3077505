package storebench

import (
	"fmt"

	"github.com/throughline/throughline/infra/bench/capacity"
	"github.com/throughline/throughline/infra/bench/report"
)

const maxItemBytes = capacity.MaxItemBytes

// Plot draws the write units of a turn over the length of the session.
func (o Result) Plot() report.Plot {
	p := report.Plot{
		Title:    "What one turn writes, as the session grows",
		Subtitle: "DynamoDB write units for 2 messages, by AWS's documented rules",
		X:        "messages in the session", Y: "write units per turn",
	}
	for _, c := range []struct {
		contender string
		reference bool
	}{{Warm, false}, {BareTurn, true}, {WarmKeyed, false}, {BareTurnKeyed, true}} {
		if points := o.points(c.contender); len(points) > 0 {
			p.Series = append(p.Series, report.Series{Name: c.contender, Points: points, Reference: c.reference})
		}
	}
	if points := o.ArrayEnd.points(); len(points) > 0 {
		p.Series = append(p.Series, report.Series{
			Name: Array, Points: points,
			End: fmt.Sprintf("ends at %s messages: 400 KB", report.Thousands(float64(o.ArrayEnd.Messages))),
		})
	}
	return p
}

func (o Result) points(contender string) []report.Point {
	var out []report.Point
	for _, length := range o.Settings.Lengths {
		if r, ok := o.Row(Turn, contender, length); ok && length > 0 { // a logarithmic axis has no 0
			out = append(out, report.Point{X: float64(length), Y: r.WriteUnits})
		}
	}
	return out
}

// points thins the array's curve to steps of a twentieth, from the shortest session of 10 messages on; its end stays.
func (e ArrayEnd) points() []report.Point {
	const from, step = 10, 1.05
	var out []report.Point
	for i, c := range e.Curve {
		at := report.Point{X: float64(c.Messages), Y: c.WriteUnits}
		last := i == len(e.Curve)-1
		if c.Messages >= from && (len(out) == 0 || last || at.X >= step*out[len(out)-1].X) {
			out = append(out, at)
		}
	}
	return out
}
