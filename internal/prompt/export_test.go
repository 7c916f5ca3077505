package prompt

import (
	"context"
	"fmt"
	"strings"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/llm"
	"github.com/throughline/throughline/internal/prompt/choose"
	"github.com/throughline/throughline/internal/prompt/pack"
	"github.com/throughline/throughline/internal/prompt/render"
)

// ActivityHeading is the heading of recent_activity.
const ActivityHeading = activityHeading

// RecipeTools returns the tools of a recipe.
func RecipeTools(r Recipe) []llm.Tool { return toolsOf(r.Tools) }

// Handed returns what each of the first three steps of a prompt hands on, as text: when the step has returned it, and
// when the steps after it have used it.
func (s *Service) Handed(ctx context.Context, user conversation.UserID, r Request) (first, last [3]string, err error) {
	o, err := check(r)
	if err != nil {
		return first, last, err
	}
	src, err := s.gatherer.Gather(ctx, o.gatherPlan(user, s.Now()))
	if err != nil {
		return first, last, err
	}
	first[0] = fmt.Sprintf("%+v", *src)
	previous := o.previous(src)
	candidates := choose.Blocks(src, o.choosePlan(previous))
	first[1] = describe(candidates)
	renderer := render.New(o.recipe.Format, o.recipe.renderSlots(), src.Zone, s.Counter, &s.constants)
	packing, err := pack.Pack(candidates, o.packPlan(previous), renderer)
	if err != nil {
		return first, last, err
	}
	first[2] = describePacking(packing)
	written := renderer.Write(packing)
	o.newManifest(src, packing, written.Costs)
	return first, [3]string{fmt.Sprintf("%+v", *src), describe(candidates), describePacking(packing)}, nil
}

func describe(blocks []choose.Block) string {
	var b strings.Builder
	for _, block := range blocks {
		fmt.Fprintf(&b, "%s %t\n", block.Name, block.Omitted)
		for _, c := range block.Candidates {
			fmt.Fprintf(&b, "%+v %+v\n", *c, c.Group)
		}
	}
	return b.String()
}

func describePacking(packing pack.Packing) string {
	var b strings.Builder
	for _, block := range packing.Blocks {
		fmt.Fprintf(&b, "%+v\n", *block)
	}
	fmt.Fprintf(&b, "%v\n", packing.Frames)
	return b.String()
}
