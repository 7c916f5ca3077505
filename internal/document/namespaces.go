package document

import "slices"

// Wildcard is the label of a pattern that matches any one label.
const Wildcard = "*"

// NamespaceQuery selects namespaces. The zero value selects all.
type NamespaceQuery struct {
	// Prefix and Suffix are patterns of the first and of the last labels.
	Prefix, Suffix Namespace
	// MaxDepth, where positive, cuts the namespaces that were selected to so many labels. Each is returned once.
	MaxDepth int
}

// Fixed returns the labels before the first wildcard of the prefix, which every selected namespace begins with.
func (q NamespaceQuery) Fixed() Namespace {
	if i := slices.Index(q.Prefix, Wildcard); i >= 0 {
		return q.Prefix[:i]
	}
	return q.Prefix
}

// Matches reports whether a namespace is selected.
func (q NamespaceQuery) Matches(n Namespace) bool {
	if len(n) < len(q.Prefix) || len(n) < len(q.Suffix) {
		return false
	}
	return matchLabels(q.Prefix, n[:len(q.Prefix)]) && matchLabels(q.Suffix, n[len(n)-len(q.Suffix):])
}

func matchLabels(pattern, labels Namespace) bool {
	for i, label := range pattern {
		if label != Wildcard && label != labels[i] {
			return false
		}
	}
	return true
}

// Cut returns the first labels of a namespace, as many as MaxDepth allows.
func (q NamespaceQuery) Cut(n Namespace) Namespace {
	if q.MaxDepth > 0 && len(n) > q.MaxDepth {
		return n[:q.MaxDepth]
	}
	return n
}
