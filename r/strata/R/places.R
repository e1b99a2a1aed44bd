# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
# Places and columns of what a caller has: data frames, and objects of sf and terra.

# A data frame, the coordinates and whether these are degrees, of a data frame or an object of sf or terra.
table_of <- function(data, coords, what) {
  if (inherits(data, "sf")) {
    need("sf")
    if (!all(sf::st_geometry_type(data) == "POINT")) stop(what, ": the geometry must be POINT", call. = FALSE)
    return(list(frame = sf::st_drop_geometry(data), places = unname(sf::st_coordinates(data)[, 1:2, drop = FALSE]),
                degrees = isTRUE(sf::st_is_longlat(data))))
  }
  if (inherits(data, "SpatVector")) {
    need("terra")
    return(list(frame = terra::as.data.frame(data), places = unname(terra::crds(data)),
                degrees = nzchar(terra::crs(data)) && isTRUE(terra::is.lonlat(data))))
  }
  if (inherits(data, "SpatRaster")) {
    need("terra")
    return(list(frame = terra::as.data.frame(data, na.rm = FALSE), places = unname(terra::xyFromCell(data, seq_len(terra::ncell(data)))),
                degrees = nzchar(terra::crs(data)) && isTRUE(terra::is.lonlat(data))))
  }
  frame <- as.data.frame(data)
  list(frame = frame, places = coordinates_of(frame, coords, what), degrees = FALSE)
}

need <- function(package) {
  if (!requireNamespace(package, quietly = TRUE)) stop("the package ", package, " is not installed", call. = FALSE)
}

# Two columns, by a formula ~ x + y, by their names, or as a matrix.
coordinates_of <- function(frame, coords, what) {
  if (is.null(coords)) stop(what, ": coords is missing: give a formula as ~ x + y, or the names of two columns", call. = FALSE)
  if (inherits(coords, "formula")) {
    columns <- model.frame(coords, frame, na.action = na.pass)
  } else if (is.character(coords)) {
    missing <- setdiff(coords, names(frame))
    if (length(missing) > 0) stop(what, ": no column ", paste(missing, collapse = ", "), call. = FALSE)
    columns <- frame[coords]
  } else {
    columns <- as.data.frame(coords)
  }
  if (length(columns) != 2) stop(what, ": two coordinates are needed, there are ", length(columns), call. = FALSE)
  if (nrow(columns) != nrow(frame)) stop(what, ": ", nrow(columns), " places and ", nrow(frame), " rows", call. = FALSE)
  if (!all(vapply(columns, is.numeric, NA))) stop(what, ": coordinates must be numbers", call. = FALSE)
  cbind(as.double(columns[[1]]), as.double(columns[[2]]))
}

# What the library is given, of complete rows, and what predictions need.
observed_of <- function(formula, data, coords, reml, metric, error_variances) {
  stopifnot("reml must be TRUE or FALSE" = isTRUE(reml) || isFALSE(reml))
  table <- table_of(data, coords, "data")
  frame <- model.frame(formula, table$frame, na.action = na.pass)
  if (!is.null(model.offset(frame))) stop("an offset in the formula is not understood: subtract it from the response", call. = FALSE)
  response <- model.response(frame, "numeric")
  if (is.null(response)) stop("the formula has no response", call. = FALSE)
  if (!is.null(dim(response))) stop("the response must be one column, it has ", ncol(response), call. = FALSE)
  F <- model.matrix(attr(frame, "terms"), frame)
  errors <- if (is.null(error_variances)) rep(0, nrow(frame)) else as.double(error_variances)
  if (length(errors) != nrow(frame)) stop("error_variances: ", length(errors), " for ", nrow(frame), " rows", call. = FALSE)
  kept <- stats::complete.cases(frame, table$places, errors)
  F <- F[kept, , drop = FALSE]
  metric <- if (is.null(metric)) (if (table$degrees) "great-circle" else "euclidean") else metric
  is_constant <- ncol(F) == 1 && colnames(F) == "(Intercept)"
  list(data = list(x = as.double(table$places[kept, 1]), y = as.double(table$places[kept, 2]), values = as.double(response[kept]),
                   metric = metric, error_variances = if (is.null(error_variances)) NULL else errors[kept],
                   trend = if (ncol(F) == 0 || is_constant) NULL else unname(F), names = colnames(F),
                   zero_mean = ncol(F) == 0, reml = reml),
       terms = attr(frame, "terms"), xlevels = stats::.getXlevels(attr(frame, "terms"), frame), contrasts = attr(F, "contrasts"),
       coords = if (is.character(coords) || inherits(coords, "formula")) coords, columns = colnames(F), kept = kept, omitted = sum(!kept))
}
