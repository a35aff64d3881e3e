/* map_json.h - calibration maps as JSON. Internal to calibrate. */
#ifndef VG_CALIBRATE_MAP_JSON_H
#define VG_CALIBRATE_MAP_JSON_H

#include "calibrate/json_values.h"
#include "calibrate/map.h"

/* "an object", "a number", ...; "nothing" for NULL. */
const char *vg_calibrate__type_name(const json_t *value);
/* The numbers > 0 at `key` of root, an array of one or more; released with vg_base__release. */
vg_status vg_calibrate__take(double **out, size_t *count, const json_t *root, const char *path, const char *key);

/* Puts the keys input, mean and maps, and the keys of fits. *ok becomes false when memory runs out. */
void vg_calibration_map__put(json_t *root, const vg_calibration_map *map, bool *ok);
void vg_calibration_map__put_fits(json_t *root, const vg_map_fit *fits, size_t count, bool *ok);

#endif
