package openaiserver

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// resolver puts the schemas in the place of the references to them.
type resolver struct {
	root    any
	open    []string // the references that lead to the schema in hand
	schemas int
}

// resolve resolves the references in s, and checks that this model can fill it.
func (r *resolver) resolve(s *schema) error {
	if s == nil {
		return errNull
	}
	if r.schemas++; r.schemas > maxSchemas {
		return fmt.Errorf("more than %d schemas, references resolved", maxSchemas)
	}
	if s.Ref != "" {
		return r.follow(s)
	}
	for _, child := range s.children() {
		if err := r.resolve(child); err != nil {
			return err
		}
	}
	return s.check()
}

// follow makes a reference what it refers to.
func (r *resolver) follow(s *schema) error {
	if slices.Contains(r.open, s.Ref) {
		return fmt.Errorf("'%s' is recursive: it refers to a schema that it is part of", s.Ref)
	}
	data, err := r.find(s.Ref)
	if err != nil {
		return err
	}
	target := &schema{}
	if err := json.Unmarshal(data, target); err != nil {
		return err
	}
	r.open = append(r.open, s.Ref)
	if err := r.resolve(target); err != nil {
		return err
	}
	r.open = r.open[:len(r.open)-1]
	target.Ref, target.annotations = s.Ref, s.annotations
	*s = *target
	return nil
}

// find returns the schema that a reference within the document names (RFC 6901).
func (r *resolver) find(ref string) (json.RawMessage, error) {
	path, ok := strings.CutPrefix(ref, "#/")
	if !ok {
		return nil, fmt.Errorf("'%s' refers to another document", ref)
	}
	at := r.root
	for step := range strings.SplitSeq(path, "/") {
		step = strings.NewReplacer("~1", "/", "~0", "~").Replace(step)
		switch within := at.(type) {
		case map[string]any:
			at, ok = within[step]
		case []any:
			i, err := strconv.Atoi(step)
			if ok = err == nil && i >= 0 && i < len(within); ok {
				at = within[i]
			}
		default:
			ok = false
		}
		if !ok {
			return nil, fmt.Errorf("'%s' refers to nothing", ref)
		}
	}
	return json.Marshal(at)
}
