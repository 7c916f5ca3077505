package template

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
)

// Permission is one action that a role allows on one resource.
type Permission struct {
	Action, Resource string
	// Attributes and ReturnValues, if set, are all attributes and the only answer that a call may name.
	Attributes   []string
	ReturnValues string
}

// condition is the condition of a statement, as far as the template has one. A key that is not here is refused.
type condition struct {
	All struct {
		Attributes []string `json:"dynamodb:Attributes"`
	} `json:"ForAllValues:StringEquals"`
	Equals struct {
		ReturnValues string `json:"dynamodb:ReturnValues"`
	} `json:"StringEquals"`
}

var (
	indexARN  = regexp.MustCompile(`/index/([\w.-]+)$`)
	secretARN = regexp.MustCompile(`:secret:[^/]+/([\w@.-]+)-\?{6}$`)
)

// Index is the name of the table's index that the permission is about, or empty.
func (p Permission) Index() string { return p.name(indexARN) }

// SecretName is the name of the secret that the permission is about after the stage's prefix, with the host of the
// key's service, or empty.
func (p Permission) SecretName() string { return p.name(secretARN) }

// Secret is the key of that secret.
func (p Permission) Secret() string {
	key, _, _ := strings.Cut(p.SecretName(), "@")
	return key
}

func (p Permission) name(in *regexp.Regexp) string {
	if m := in.FindStringSubmatch(p.Resource); m != nil {
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
					Condition        json.RawMessage
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
			var c condition
			if s.Condition != nil {
				if err := decodeStrictly(s.Condition, &c); err != nil {
					return nil, fmt.Errorf("read %s: %w", id, err)
				}
			}
			for _, action := range s.Action {
				for _, resource := range s.Resource {
					out = append(out, Permission{action, resource, c.All.Attributes, c.Equals.ReturnValues})
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
