package rank

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"sync"
)

// Weights says how much each feature counts.
type Weights struct {
	// Date and Data say when and on what the weights were fitted.
	Date string `json:"date"`
	Data string `json:"data"`
	// Features has the weight of each feature by its name. Intercept is added to each score.
	Features  map[string]float64 `json:"features"`
	Intercept float64            `json:"intercept"`
	// Noise is the probability that the best record has to reach. Where none has it, the query asks for nothing, as a
	// greeting does.
	Noise float64 `json:"noise"`

	// columns are the weights in the order of Names.
	columns [featureCount]float64
}

//go:embed weights.json
var fitted []byte

// Default returns the weights that the project ships.
var Default = sync.OnceValue(func() *Weights {
	w, err := Parse(fitted)
	if err != nil {
		panic(err) // a test parses the file
	}
	return w
})

// Parse reads weights from JSON. A feature that it does not name has no weight.
func Parse(data []byte) (*Weights, error) {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	var w Weights
	if err := decoder.Decode(&w); err != nil {
		return nil, fmt.Errorf("parse the weights of the ranking: %w", err)
	}
	for name, weight := range w.Features {
		column := slices.Index(Names[:], name)
		if column < 0 || math.IsNaN(weight) || math.IsInf(weight, 0) {
			return nil, fmt.Errorf("parse the weights of the ranking: %q is no feature or its weight is no number", name)
		}
		w.columns[column] = weight
	}
	return &w, nil
}

// irrelevantShare is the share of Noise below which a record is not worth its place in a prompt. It is this small
// because the probabilities are fitted to one kind of conversation: in short histories, and in languages whose words of
// time and number are not known, evidence has a tenth of the probability that it has there.
const irrelevantShare = 0.1

// IsNoise reports whether a query asks for nothing, by the probability of its best record.
func (w *Weights) IsNoise(best float64) bool { return best < w.Noise }

// IsIrrelevant reports whether a record of that probability is not worth its place in a prompt.
func (w *Weights) IsIrrelevant(probability float64) bool {
	return probability < irrelevantShare*w.Noise
}

// Score returns the logarithm of the odds of a row of features.
func (w *Weights) Score(row []float64) float64 {
	sum := 0.0
	for i, value := range row {
		sum += w.columns[i] * value
	}
	return sum + w.Intercept
}

// appendParts appends the parts of a row's score: one for each feature, and then the intercept.
func (w *Weights) appendParts(parts, row []float64) []float64 {
	for i, value := range row {
		parts = append(parts, w.columns[i]*value)
	}
	return append(parts, w.Intercept)
}
