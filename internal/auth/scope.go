package auth

import (
	"encoding/json"
	"errors"
	"strings"
)

// scopes are a token's scopes: one text with spaces between them, or a list.
type scopes []string

// UnmarshalJSON reads either form.
func (s *scopes) UnmarshalJSON(raw []byte) error {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		*s = strings.Fields(text)
		return nil
	}
	var list []string
	if json.Unmarshal(raw, &list) == nil {
		*s = list
		return nil
	}
	return errors.New("parse scopes: neither text nor a list of texts")
}
