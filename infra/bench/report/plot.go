package report

import (
	"bytes"
	"errors"
	"fmt"
	"image/color"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// Plot is a line plot on two logarithmic axes.
type Plot struct {
	Title string
	// X and Y name the axes, with units.
	X, Y   string
	Series []Series
}

// Series is one line, named in the legend.
type Series struct {
	Name string
	// Points are in ascending order of X. Both coordinates are above 0.
	Points []Point
	// Reference draws a thin dashed line: something to compare with, which may be under another line.
	Reference bool
	// End says, if set, why the line ends before the others, and marks its last point.
	End string
}

// Point is a point of a plot.
type Point struct{ X, Y float64 }

// The size of a plot.
const (
	plotWidth  vg.Length = 720
	plotHeight vg.Length = 420
)

// lineColors can be told apart with the common forms of color blindness.
var lineColors = []color.Color{
	color.RGBA{0x2a, 0x78, 0xd6, 0xff}, color.RGBA{0xeb, 0x68, 0x34, 0xff}, color.RGBA{0x1b, 0x9e, 0x77, 0xff},
}

// SVG draws the plot on white.
func (p Plot) SVG() ([]byte, error) {
	if len(p.Series) == 0 {
		return nil, errors.New("the plot has no series")
	}
	drawn := plot.New()
	drawn.Title.Text, drawn.X.Label.Text, drawn.Y.Label.Text = p.Title, p.X, p.Y
	drawn.Title.TextStyle.Font.Variant, drawn.Legend.TextStyle.Font.Variant = "Sans", "Sans"
	for _, axis := range []*plot.Axis{&drawn.X, &drawn.Y} {
		axis.Scale, axis.Tick.Marker = plot.LogScale{}, decades{}
		axis.Label.TextStyle.Font.Variant, axis.Tick.Label.Font.Variant = "Sans", "Sans"
	}
	drawn.Legend.Top, drawn.Legend.Left, drawn.Legend.Padding = true, true, vg.Points(2)
	drawn.Add(plotter.NewGrid())
	colors := 0
	for _, s := range p.Series {
		ink := color.Color(color.Gray{0x63})
		if !s.Reference {
			ink = lineColors[colors%len(lineColors)]
			colors++
		}
		if err := s.addTo(drawn, ink); err != nil {
			return nil, err
		}
	}
	canvas := vgsvg.New(plotWidth, plotHeight)
	drawn.Draw(draw.New(canvas))
	var out bytes.Buffer
	if _, err := canvas.WriteTo(&out); err != nil {
		return nil, fmt.Errorf("draw plot: %w", err)
	}
	return out.Bytes(), nil
}

func (s Series) addTo(p *plot.Plot, ink color.Color) error {
	points := make(plotter.XYs, len(s.Points))
	for i, at := range s.Points {
		if at.X <= 0 || at.Y <= 0 {
			return fmt.Errorf("the series %q has a point that is not above 0", s.Name)
		}
		points[i] = plotter.XY(at)
	}
	line, err := plotter.NewLine(points)
	if err != nil {
		return fmt.Errorf("draw the series %q: %w", s.Name, err)
	}
	line.Color, line.Width = ink, vg.Points(2)
	if s.Reference {
		line.Width, line.Dashes = vg.Points(1), []vg.Length{vg.Points(3), vg.Points(4)}
	}
	p.Add(line)
	name := s.Name
	if s.End != "" {
		name += ", " + s.End
		end, err := plotter.NewScatter(points[len(points)-1:])
		if err != nil {
			return fmt.Errorf("mark the end of %q: %w", s.Name, err)
		}
		end.GlyphStyle = draw.GlyphStyle{Color: ink, Radius: vg.Points(5), Shape: draw.CrossGlyph{}}
		p.Add(end)
	}
	p.Legend.Add(name, line)
	return nil
}

// decades marks the powers of ten on an axis.
type decades struct{}

// Ticks implements plot.Ticker.
func (decades) Ticks(low, high float64) []plot.Tick {
	ticks := plot.LogTicks{}.Ticks(low, high)
	for i, t := range ticks {
		if t.Label != "" {
			ticks[i].Label = Thousands(t.Value)
		}
	}
	return ticks
}

// Thousands writes a number with a comma between thousands and only the decimals that it needs.
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
