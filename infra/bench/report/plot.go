package report

import (
	"bytes"
	_ "embed"
	"encoding/xml"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"text/template"
)

// Plot is a line plot on two logarithmic axes.
type Plot struct {
	Title, Subtitle string
	// X and Y say what the axes are, with units.
	X, Y   string
	Series []Series
}

// Series is one labelled line.
type Series struct {
	Name string
	// Points are in ascending order of X; both coordinates are above 0.
	Points []Point
	// Reference draws the line thin and broken: something to compare with, which may lie under another line.
	Reference bool
	// End, where set, says why the line ends before the others do, and marks the place.
	End string
}

// Point is a place on the plot.
type Point struct{ X, Y float64 }

//go:embed plot.svg
var plotText string

var plotTemplate = template.Must(template.New("plot").Funcs(template.FuncMap{"text": escape}).Parse(plotText))

// SVG draws the plot. Ink and paper follow the reader's colour scheme together, so it is readable in light and dark
// wherever it is embedded.
func (p Plot) SVG() ([]byte, error) {
	var xs, ys []float64
	for _, s := range p.Series {
		if len(s.Points) == 0 {
			return nil, fmt.Errorf("the series %q has no points", s.Name)
		}
		for _, at := range s.Points {
			xs, ys = append(xs, at.X), append(ys, at.Y)
		}
	}
	if len(xs) == 0 || slices.Min(xs) <= 0 || slices.Min(ys) <= 0 {
		return nil, errors.New("a logarithmic plot takes points above 0 only")
	}
	d := drawing{Plot: p, x: axisOf(xs, plotLeft, plotWidth), y: axisOf(ys, plotTop+plotHeight, -plotHeight)}
	var out bytes.Buffer
	if err := plotTemplate.Execute(&out, d); err != nil {
		return nil, fmt.Errorf("draw plot: %w", err)
	}
	return out.Bytes(), nil
}

// Thousands writes a number with a comma between thousands, without digits behind the point that it does not need.
func Thousands(v float64) string {
	whole, fraction, _ := strings.Cut(strconv.FormatFloat(v, 'f', -1, 64), ".")
	for i := len(whole) - 3; i > 0 && whole[i-1] != '-'; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if fraction != "" {
		whole += "." + fraction
	}
	return whole
}

func escape(s string) (string, error) {
	var b strings.Builder
	err := xml.EscapeText(&b, []byte(s))
	return b.String(), err
}
