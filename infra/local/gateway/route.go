package gateway

import (
	"strings"

	"github.com/throughline/throughline/infra/local/template"
)

// route is one route of the API and its function.
type route struct {
	template.Route
	function string
	segments []string
}

// key is the route's name in events: "POST /v1/prompts".
func (r route) key() string { return r.Method + " " + r.Path }

// match finds the most specific route for the method and the path, as the service does. A fixed segment is more
// specific than a parameter, and a parameter more than a greedy one. If no route of the path has the method, the
// service answers not found. Here the function of the path's most specific route answers 405.
func match(routes []route, method, path string) (best route, parameters map[string]string, ok bool) {
	best, parameters, ok = mostSpecific(routes, path, func(r route) bool { return r.Method == method })
	if !ok {
		best, parameters, ok = mostSpecific(routes, path, func(route) bool { return true })
	}
	return best, parameters, ok
}

// mostSpecific finds the matching route of the lowest rank among the routes for which include is true.
func mostSpecific(
	routes []route, path string, include func(route) bool,
) (best route, parameters map[string]string, ok bool) {
	bestRank := ""
	for _, r := range routes {
		rank, found, matches := r.matchPath(path)
		if !matches || !include(r) || ok && rank >= bestRank {
			continue
		}
		best, bestRank, parameters, ok = r, rank, found, true
	}
	return best, parameters, ok
}

// The ranks of a path's segments. A lower rank is more specific.
const (
	rankFixed     = "1"
	rankParameter = "2"
	rankGreedy    = "3"
)

// matchPath compares a path with the route. The rank has one character for each segment.
func (r route) matchPath(path string) (rank string, parameters map[string]string, ok bool) {
	parts := strings.Split(strings.TrimPrefix(path, "/"), "/")
	for i, segment := range r.segments {
		name, isParameter := strings.CutPrefix(strings.TrimSuffix(segment, "}"), "{")
		greedy, isGreedy := strings.CutSuffix(name, "+")
		switch {
		case i >= len(parts) || isParameter && parts[i] == "":
			return "", nil, false
		case isParameter && isGreedy:
			return rank + rankGreedy, withEntry(parameters, greedy, strings.Join(parts[i:], "/")), true
		case isParameter:
			rank, parameters = rank+rankParameter, withEntry(parameters, name, parts[i])
		case segment != parts[i]:
			return "", nil, false
		default:
			rank += rankFixed
		}
	}
	return rank, parameters, len(parts) == len(r.segments)
}

func withEntry(m map[string]string, name, value string) map[string]string {
	if m == nil {
		m = map[string]string{}
	}
	m[name] = value
	return m
}
