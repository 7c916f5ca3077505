package stack

import (
	"net/http"

	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/httpapi"
)

// localOnly refuses requests that a web page elsewhere could cause. Listening on the loopback interface alone does not
// keep them away: the name of a page's host can be made to resolve to 127.0.0.1 (DNS rebinding), and a page may send a
// form to any address. The first has a foreign Host, the second a foreign Origin or Sec-Fetch-Site.
func localOnly(next http.Handler) http.Handler {
	pages := http.NewCrossOriginProtection()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !onThisMachine("http://" + r.Host) {
			httpapi.WriteProblem(w, fault.New(fault.Forbidden, "this answers as 127.0.0.1, localhost and [::1] only"))
			return
		}
		if pages.Check(r) != nil {
			httpapi.WriteProblem(w, fault.New(fault.Forbidden, "this is not for pages of other origins"))
			return
		}
		next.ServeHTTP(w, r)
	})
}
