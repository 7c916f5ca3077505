package template

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
)

// Permission is one action that a role allows on one resource.
type Permission struct{ Action, Resource string }

var indexARN = regexp.MustCompile(`/index/([\w.-]+)$`)

// Index is the name of the table's index that the permission is about, or empty.
func (p Permission) Index() string {
	if m := indexARN.FindStringSubmatch(p.Resource); m != nil {
		return m[1]
	}
	return ""
}

var secretARN = regexp.MustCompile(`:secret:[^/]+/([\w-]+)-\?{6}$`)

// Secret is the key that the permission is about, or empty.
func (p Permission) Secret() string {
	if m := secretARN.FindStringSubmatch(p.Resource); m != nil {
		return m[1]
	}
	return ""
}

// LogicalID is the name of a function's resource of a kind, such as MessagesRole.
func LogicalID(function, kind string) string {
	return strings.ToUpper(function[:1]) + function[1:] + kind
}

// Role lists what the role of a function allows.
func (t *Template) Role(function string) ([]Permission, error) {
	id := LogicalID(function, "Role")
	var role struct {
		Policies []struct {
			PolicyDocument struct {
				Statement []struct {
					Effect           string
					Action, Resource texts
				}
			}
		}
	}
	if err := json.Unmarshal(t.Resources[id].Properties, &role); err != nil {
		return nil, fmt.Errorf("read %s: %w", id, err)
	}
	var out []Permission
	for _, policy := range role.Policies {
		for _, s := range policy.PolicyDocument.Statement {
			if s.Effect != "Allow" {
				return nil, fmt.Errorf("read %s: a statement has the effect %q", id, s.Effect)
			}
			for _, action := range s.Action {
				for _, resource := range s.Resource {
					out = append(out, Permission{action, resource})
				}
			}
		}
	}
	return out, nil
}

// texts is one text or a list of texts.
type texts []string

// UnmarshalJSON reads both forms.
func (t *texts) UnmarshalJSON(raw []byte) error {
	if strings.HasPrefix(string(raw), "[") {
		return json.Unmarshal(raw, (*[]string)(t))
	}
	*t = texts{""}
	return json.Unmarshal(raw, &(*t)[0])
}
