// Package fit fits availability models to a record of who was active, and tests whether they describe it.
//
//	result, err := fit.Fit(record, fit.Options{Seed: 1})
//	if err != nil {
//		return err
//	}
//	fmt.Println(result.Clients[0].Lambda, result.Cycle.Period, len(result.Groups.Groups))
package fit
