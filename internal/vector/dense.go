package vector

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"math"
)

// Dense is a dense vector. As text it is base64 of its values as 32-bit floats, little endian, which is a third of the
// length of a list of numbers: 8 KB for 1,536 dimensions.
type Dense []float32

// MarshalText encodes the vector.
func (d Dense) MarshalText() ([]byte, error) {
	raw, err := binary.Append(make([]byte, 0, 4*len(d)), binary.LittleEndian, []float32(d))
	if err != nil {
		return nil, err
	}
	return base64.StdEncoding.AppendEncode(nil, raw), nil
}

// UnmarshalText decodes a vector. It refuses values that are not finite.
func (d *Dense) UnmarshalText(text []byte) error {
	raw, err := base64.StdEncoding.AppendDecode(nil, text)
	if err != nil || len(raw)%4 != 0 {
		return errors.New("must be base64 of 32-bit floats")
	}
	*d = make(Dense, len(raw)/4)
	for i := range *d {
		v := math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:]))
		if f := float64(v); math.IsNaN(f) || math.IsInf(f, 0) {
			return errors.New("must have finite values")
		}
		(*d)[i] = v
	}
	return nil
}
