package report

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// The plot's measures in pixels.
const (
	plotLeft, plotTop      = 64, 72
	plotWidth, plotHeight  = 520, 280
	labelGap, labelSpace   = 10, 17
	characterWidth, margin = 6.6, 16
	axisSpace              = 56
	keyWidth, keySpace     = 18, 24 // the piece of its line before a label, and with the space behind it
)

// axis maps whole decades onto pixels.
type axis struct {
	low, high     float64 // powers of ten
	start, length float64
}

func axisOf(values []float64, start, length float64) axis {
	low := math.Floor(math.Log10(slices.Min(values)))
	return axis{low, max(math.Ceil(math.Log10(slices.Max(values))), low+1), start, length}
}

func (a axis) at(v float64) float64 {
	return a.start + a.length*(math.Log10(v)-a.low)/(a.high-a.low)
}

// tick is a labelled place on an axis.
type tick struct {
	At   float64
	Text string
}

func (a axis) ticks() []tick {
	var out []tick
	for e := a.low; e <= a.high; e++ {
		v := math.Pow(10, e)
		out = append(out, tick{a.at(v), Thousands(v)})
	}
	return out
}

// drawing is what the template sees.
type drawing struct {
	Plot
	x, y axis
}

func (d drawing) XTicks() []tick { return d.x.ticks() }

func (d drawing) YTicks() []tick { return d.y.ticks() }

func (d drawing) Left() int     { return plotLeft }
func (d drawing) Right() int    { return plotLeft + plotWidth }
func (d drawing) Top() int      { return plotTop }
func (d drawing) Bottom() int   { return plotTop + plotHeight }
func (d drawing) Center() int   { return plotLeft + plotWidth/2 }
func (d drawing) Middle() int   { return plotTop + plotHeight/2 }
func (d drawing) Key() int      { return keyWidth }
func (d drawing) KeySpace() int { return keySpace }
func (d drawing) Height() int   { return plotTop + plotHeight + axisSpace }

// Width leaves the longest label its place on the right.
func (d drawing) Width() int {
	longest := 0
	for _, s := range d.Series {
		if s.End == "" {
			longest = max(longest, len(s.Name))
		}
	}
	return plotLeft + plotWidth + labelGap + keySpace + int(characterWidth*float64(longest)) + margin
}

// line is a series as it is drawn.
type line struct {
	Series
	// Hue counts the lines that are no references; each has its own colour.
	Hue        int
	Path       string
	EndX, EndY float64
	LabelX     float64
	LabelY     float64
	NoteY      float64 // of the label's second line, which says End
}

// Lines are the series, the labels of those that reach the right edge moved apart.
func (d drawing) Lines() []line {
	lines := make([]line, len(d.Series))
	hue := 0
	for i, s := range d.Series {
		last := s.Points[len(s.Points)-1]
		l := line{Series: s, Path: d.path(s.Points), EndX: d.x.at(last.X), EndY: d.y.at(last.Y)}
		l.LabelX, l.LabelY = l.EndX+labelGap, l.EndY
		if !s.Reference {
			hue++
			l.Hue = hue
		}
		lines[i] = l
	}
	spread(lines)
	for i := range lines {
		lines[i].NoteY = lines[i].LabelY + labelSpace
	}
	return lines
}

func (d drawing) path(points []Point) string {
	var b strings.Builder
	for i, at := range points {
		fmt.Fprintf(&b, "%c%.1f %.1f", "ML"[min(i, 1)], d.x.at(at.X), d.y.at(at.Y))
	}
	return b.String()
}

// spread keeps labels in a column from covering each other, from the top down.
func spread(lines []line) {
	var column []*line
	for i := range lines {
		if lines[i].End == "" {
			column = append(column, &lines[i])
		}
	}
	slices.SortStableFunc(column, func(a, b *line) int { return int(a.LabelY - b.LabelY) })
	for i := 1; i < len(column); i++ {
		column[i].LabelY = max(column[i].LabelY, column[i-1].LabelY+labelSpace)
	}
}
