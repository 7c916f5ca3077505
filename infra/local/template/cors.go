package template

import "fmt"

// CORS is what an HTTP API does for pages of other origins: its CorsConfiguration, in the template's own order.
type CORS struct {
	AllowOrigins, AllowMethods, AllowHeaders, ExposeHeaders []string
	// MaxAge is how many seconds a page may keep the answer to a preflight; zero leaves that to the browser.
	MaxAge           int
	AllowCredentials bool
}

// httpAPIProperties is the part of AWS::Serverless::HttpApi that matters here. SAM's short form of CorsConfiguration,
// true, is not known: with a JWT authorizer it would not let any page send its token.
type httpAPIProperties struct {
	CorsConfiguration *struct {
		AllowOrigins, AllowMethods, AllowHeaders, ExposeHeaders []string
		MaxAge                                                  integer
		AllowCredentials                                        bool
	}
}

// cors reads the configuration of the template's API, nil where it lets no other origin in.
func (d *document) cors() (*CORS, error) {
	for id, resource := range d.resources("AWS::Serverless::HttpApi") {
		properties, err := decode[httpAPIProperties](resource)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", id, err)
		}
		if c := properties.CorsConfiguration; c != nil {
			return &CORS{c.AllowOrigins, c.AllowMethods, c.AllowHeaders, c.ExposeHeaders, int(c.MaxAge), c.AllowCredentials}, nil
		}
	}
	return nil, nil //nolint:nilnil // no configuration is one
}
