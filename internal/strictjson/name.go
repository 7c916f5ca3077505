package strictjson

import (
	"bytes"
	"encoding/json"
)

// plain is a quoted name as the text that it stands for.
func plain(quoted []byte) string {
	var name string
	if json.Unmarshal(quoted, &name) != nil {
		return ""
	}
	return name
}

// nameSet holds the names of one object: a list while they are few, a map when they are many.
type nameSet struct {
	few  [][]byte
	many map[string]bool
}

// add reports whether the quoted name is new. Names that differ only in their escapes are the same.
func (s *nameSet) add(quoted []byte) bool {
	if bytes.IndexByte(quoted, '\\') >= 0 {
		quoted = []byte(`"` + plain(quoted) + `"`)
	}
	if s.many == nil && len(s.few) < 16 {
		for _, name := range s.few {
			if string(name) == string(quoted) {
				return false
			}
		}
		s.few = append(s.few, quoted)
		return true
	}
	if s.many == nil {
		s.many = make(map[string]bool, 2*len(s.few))
		for _, name := range s.few {
			s.many[string(name)] = true
		}
	}
	if s.many[string(quoted)] {
		return false
	}
	s.many[string(quoted)] = true
	return true
}
