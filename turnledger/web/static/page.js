// What makes the page quick: it works without this, by its addresses alone.
import { begin } from "./walking.js";
import { enhanceSearch } from "./search.js";

enhanceSearch();
const columns = document.querySelector(".columns");
if (columns) begin(columns);
