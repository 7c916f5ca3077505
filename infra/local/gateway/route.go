package gateway

import (
	"strings"

	"github.com/throughline/throughline/infra/local/template"
)

// anyMethod and defaultPath are the method and path of routes that take every method or every path.
const (
	anyMethod   = "ANY"
	defaultPath = "$default"
)

// route is one route of the API and its function.
type route struct {
	template.Route
	function string
	segments []string
}

func newRoute(r template.Route, function string) route {
	return route{Route: r, function: function, segments: strings.Split(strings.Trim(r.Path, "/"), "/")}
}

// key is the route's name in events: "POST /v1/prompts".
func (r route) key() string {
	if r.Path == defaultPath {
		return defaultPath
	}
	return r.Method + " " + r.Path
}

// match finds the most specific route, as the service does. A fixed segment is more specific than a parameter, a
// parameter more than a greedy one, and $default is the least specific. Of equal paths the route with the method wins.
// If the path has routes but none with the method, the service answers not found. Here the path's function answers 405.
func match(routes []route, method, path string) (best route, parameters map[string]string, ok bool) {
	best, parameters, ok = mostSpecific(routes, path, func(r route) string {
		switch {
		case r.Method == method:
			return "a"
		case r.Method == anyMethod || r.Path == defaultPath:
			return "b"
		}
		return ""
	})
	if !ok {
		best, parameters, ok = mostSpecific(routes, path, func(route) string { return "a" })
	}
	return best, parameters, ok
}

// mostSpecific finds the matching route of the lowest rank. It leaves out routes for which rankMethod returns "".
func mostSpecific(
	routes []route, path string, rankMethod func(route) string,
) (best route, parameters map[string]string, ok bool) {
	bestRank := ""
	for _, r := range routes {
		method := rankMethod(r)
		rank, found, matches := r.matchPath(path)
		if rank += method; method == "" || !matches || ok && rank >= bestRank {
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
	rankDefault   = "4"
)

// matchPath compares a path with the route. The rank has one character for each segment.
func (r route) matchPath(path string) (rank string, parameters map[string]string, ok bool) {
	if r.Path == defaultPath {
		return rankDefault, nil, true
	}
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
