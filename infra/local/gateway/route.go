package gateway

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"github.com/throughline/throughline/infra/local/template"
)

// route is one route of the API and its function.
type route struct {
	template.Route
	function string
	pattern  *regexp.Regexp // of paths, with a group for each parameter
}

// key is the route's name in events: "POST /v1/prompts".
func (r route) key() string { return r.Method + " " + r.Path }

// groups makes a path of the template, as regexp.QuoteMeta returns it, a pattern.
var groups = strings.NewReplacer(`\{`, `(?P<`, `\+\}`, `>[^/].*)`, `\}`, `>[^/]+)`)

func newRoute(r template.Route, function string) route {
	return route{r, function, regexp.MustCompile("(?s)^" + groups.Replace(regexp.QuoteMeta(r.Path)) + "$")}
}

// compareRoutes puts the more specific route first, as the service does: one with a greedy parameter is the last, and a
// fixed segment comes before a parameter, because a brace follows all characters of the other segments.
func compareRoutes(a, b route) int {
	isGreedy := func(r route) int { return strings.Count(r.Path, "+}") }
	return cmp.Or(isGreedy(a)-isGreedy(b), strings.Compare(a.Path, b.Path))
}

// match finds the first route for the method and the path. If no route of the path has the method, the service answers
// not found. Here the function of the path's first route answers 405.
func match(routes []route, method, path string) (route, bool) {
	of := slices.DeleteFunc(slices.Clone(routes), func(r route) bool { return !r.pattern.MatchString(path) })
	if len(of) == 0 {
		return route{}, false
	}
	i := slices.IndexFunc(of, func(r route) bool { return r.Method == method })
	return of[max(0, i)], true
}

// parameters are those of a path that the route matches.
func (r route) parameters(path string) map[string]string {
	found := r.pattern.FindStringSubmatch(path)
	parameters := map[string]string{}
	for i, name := range r.pattern.SubexpNames()[1:] {
		parameters[name] = found[i+1]
	}
	return parameters
}
